// Sockets, and asking for the addresses of names.
#include <netdb.h>
#include <sys/socket.h>

#include "testing/determinism_guard/watched.h"

PERDURE_WATCH(kSocket, int, socket, (int domain, int type, int protocol), (domain, type, protocol))
PERDURE_WATCH(kSocket, int, socketpair, (int domain, int type, int protocol, int* sockets),
              (domain, type, protocol, sockets))
PERDURE_WATCH(kSocket, int, connect, (int socket, const sockaddr* address, socklen_t size), (socket, address, size))
PERDURE_WATCH(kSocket, int, bind, (int socket, const sockaddr* address, socklen_t size), (socket, address, size))
PERDURE_WATCH(kSocket, int, accept, (int socket, sockaddr* address, socklen_t* size), (socket, address, size))
PERDURE_WATCH(kSocket, int, accept4, (int socket, sockaddr* address, socklen_t* size, int flags),
              (socket, address, size, flags))
PERDURE_WATCH(kSocket, int, getaddrinfo,
              (const char* node, const char* service, const addrinfo* hints, addrinfo** result),
              (node, service, hints, result))
PERDURE_WATCH(kSocket, hostent*, gethostbyname, (const char* name), (name))

namespace perdure::testing {
void link_socket_functions() noexcept {}
}  // namespace perdure::testing
