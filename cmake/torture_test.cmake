# cmake -DPROGRAM= -DSTORE= -DSTATUS= -DEXPECTED= -DARGUMENTS= -P torture_test.cmake: runs the program on a file that does
# not exist yet. Fails if it ends with another status, does not print what is expected, leaves something of a clean run
# behind, or keeps nothing of one with problems.
set(files ${STORE} ${STORE}-wal ${STORE}-shm ${STORE}-processes)
set(folder ${STORE}.books)
file(REMOVE ${files})
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder})
set(ENV{TMPDIR} ${folder})  # where the ledger goes
execute_process(COMMAND ${PROGRAM} torture --store sqlite:${STORE} ${ARGUMENTS}
  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
file(GLOB left ${STORE}* ${folder}/*)
list(REMOVE_ITEM left ${folder})
file(REMOVE ${files})
file(REMOVE_RECURSE ${folder})

message("${output}")
if(NOT status EQUAL STATUS)
  message(FATAL_ERROR "it ended with status ${status} instead of ${STATUS}")
elseif(NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "it did not print '${EXPECTED}'")
elseif(status EQUAL 0 AND left)
  message(FATAL_ERROR "it left behind: ${left}")
elseif(NOT status EQUAL 0 AND NOT left MATCHES "torture-")
  message(FATAL_ERROR "it kept neither store nor ledger for those who look into the problem: ${left}")
endif()
