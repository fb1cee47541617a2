# SPDX-License-Identifier: MIT
# What plugins find in the program: the functions that the public headers declare, and nothing else, so that a name of a
# plugin's own never binds to one of ours.
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/harness/include/sandproof/*.h)
set(exports "")
foreach(header IN LISTS headers)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(STRINGS ${header} lines REGEX "^[a-z].*[ *]sp_[a-z0-9_]+\\(" ENCODING UTF-8)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^typedef" AND line MATCHES "[ *](sp_[a-z0-9_]+)\\(")
      string(APPEND exports "\t${CMAKE_MATCH_1};\n")
    endif()
  endforeach()
endforeach()
set(sp_exports ${CMAKE_BINARY_DIR}/generated/exports.list)
file(CONFIGURE OUTPUT ${sp_exports} CONTENT "{\n${exports}};\n" @ONLY)

function(sp_exports_contract target)
  target_link_options(${target} PRIVATE -Wl,--dynamic-list=${sp_exports})
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${sp_exports})
endfunction()
sp_exports_contract(sandproof)

# sp_module(NAME SOURCES...): a plugin as its author would build it, linked with nothing of ours.
function(sp_module name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
endfunction()

set(modules plugin_box plugin_clock plugin_ends plugin_faulty plugin_newer plugin_none plugin_local)
sp_module(plugin_box ${CMAKE_CURRENT_LIST_DIR}/examples/box.c)
sp_module(plugin_clock ${CMAKE_CURRENT_LIST_DIR}/examples/clock.c)
sp_module(plugin_ends ${CMAKE_CURRENT_LIST_DIR}/test/ends.c)
sp_module(plugin_faulty ${CMAKE_CURRENT_LIST_DIR}/test/faulty.c)
sp_module(plugin_newer ${CMAKE_CURRENT_LIST_DIR}/test/newer.c)
sp_module(plugin_none ${CMAKE_CURRENT_LIST_DIR}/test/none.c)
# A whole provider: its own sources and what they use of ours, but for the contract's functions, which the program has.
file(GLOB local_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/providers/local/*.c ${CMAKE_SOURCE_DIR}/harness/base/*.c)
list(FILTER local_sources EXCLUDE REGEX "(_(test|helper)|/(cancel|contract|error))\\.c$")
sp_module(plugin_local ${CMAKE_SOURCE_DIR}/providers/local/plugin/module.c ${local_sources})
target_link_libraries(plugin_local PRIVATE PkgConfig::CJSON PkgConfig::CRYPTO)
if(TARGET sp_plugin_plugin_test)
  add_dependencies(sp_plugin_plugin_test sandproof ${modules})
endif()
if(TARGET sp_stores_sqlite_sqlite_test)
  add_dependencies(sp_stores_sqlite_sqlite_test plugin_ends)
endif()
