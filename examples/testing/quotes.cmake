# Fails unless testing.md or simulation.md in the folder DOCUMENTS quotes every source of the folder SOURCES word for word,
# each in a block of its own.
file(READ ${DOCUMENTS}/testing.md testing)
file(READ ${DOCUMENTS}/simulation.md simulation)
file(GLOB sources ${SOURCES}/*.h ${SOURCES}/*.cpp)
foreach(source IN LISTS sources)
  file(READ ${source} text)
  string(FIND "${testing}${simulation}" "```cpp\n${text}```\n" place)
  if(place EQUAL -1)
    message(SEND_ERROR "neither testing.md nor simulation.md quotes ${source} as it is now: copy it into its block there")
  endif()
endforeach()
