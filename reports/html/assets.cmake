# SPDX-License-Identifier: MIT
# Style and script of the HTML report become part of the program.
set_source_files_properties(reports/html_assets.c PROPERTIES
  COMPILE_DEFINITIONS SP_HTML_DIR="${CMAKE_SOURCE_DIR}/reports/html"
  OBJECT_DEPENDS "${CMAKE_SOURCE_DIR}/reports/html/page.css;${CMAKE_SOURCE_DIR}/reports/html/page.js")
