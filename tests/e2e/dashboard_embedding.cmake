# What cmake/dashboard_script.cmake makes of a small web/: cmake -DSCRIPT=… -DNPM=… -DFOLDER=… -P dashboard_embedding.cmake
file(REMOVE_RECURSE ${FOLDER})
set(web ${FOLDER}/web)
file(WRITE ${web}/package.json "{\"private\": true, \"scripts\": {\"build\": \"node tools/build.mjs\"}}")
file(WRITE ${web}/src/page.html "<script src=\"%BASE%/assets/app.1.js\"></script>")
file(WRITE ${web}/tools/build.mjs "
import {copyFileSync, mkdirSync, writeFileSync} from 'node:fs';
const out = process.env.DROVER_WEB_OUT;
mkdirSync(out + '/assets', {recursive: true});
copyFileSync('src/page.html', out + '/index.html');
writeFileSync(out + '/assets/app.1.js', '// ' + 'x'.repeat(1000));
writeFileSync(out + '/notes.txt', 'not embedded');
")

function(run_script output result)
  execute_process(COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} ${ARGN} -P ${SCRIPT} RESULT_VARIABLE status ERROR_VARIABLE told)
  set(${result} ${status} PARENT_SCOPE)
  set(told "${told}" PARENT_SCOPE)
endfunction()

function(expect_match text pattern)
  if(NOT text MATCHES "${pattern}")
    message(SEND_ERROR "expected ${pattern} in:\n${text}")
  endif()
endfunction()

run_script(${FOLDER}/files.cc status -DWEB=${web} -DFOLDER=${FOLDER}/build -DNPM=${NPM})
if(status)
  message(FATAL_ERROR "the script failed: ${told}")
endif()
file(READ ${FOLDER}/files.cc files)
expect_match("${files}" "{\"index.html\", text_of")
expect_match("${files}" "{\"assets/app.1.js\", text_of")
expect_match("${files}" "kPlain0\\[\\] = {0x3c,0x73,0x63,0x72")  # "<scr"
expect_match("${files}" "kGzip1\\[\\] = {0x1f,0x8b,")
if(files MATCHES "notes.txt")
  message(SEND_ERROR "only index.html and assets belong into the program")
endif()
string(LENGTH "${files}" bytes)
if(bytes GREATER 8000)
  message(SEND_ERROR "1,000 equal bytes should be small as gzip")
endif()

# The same sources, the same bytes; nothing is written beside them.
run_script(${FOLDER}/again.cc status -DWEB=${web} -DFOLDER=${FOLDER}/build -DNPM=${NPM})
file(READ ${FOLDER}/again.cc again)
if(NOT again STREQUAL files)
  message(SEND_ERROR "a second build differs")
endif()
file(GLOB_RECURSE there RELATIVE ${web} ${web}/*)
list(SORT there)
if(NOT there STREQUAL "package.json;src/page.html;tools/build.mjs")
  message(SEND_ERROR "the build wrote into its sources: ${there}")
endif()

# A build that fails, or writes nothing, is an error.
file(WRITE ${web}/tools/build.mjs "process.exit(1);")
run_script(${FOLDER}/failed.cc status -DWEB=${web} -DFOLDER=${FOLDER}/build -DNPM=${NPM})
expect_match("${status} ${told}" "^1 .*npm run build failed")
file(WRITE ${web}/tools/build.mjs "")
run_script(${FOLDER}/failed.cc status -DWEB=${web} -DFOLDER=${FOLDER}/build -DNPM=${NPM})
expect_match("${status} ${told}" "^1 .*wrote no index.html")

# Without web/ there is nothing in it.
run_script(${FOLDER}/none.cc status)
file(READ ${FOLDER}/none.cc none)
expect_match("${none}" "return {};")
