#include "transport/transport.h"

enum gw_status gw_send(struct gw_communicator *communicator, int to, const void *data, size_t bytes,
                       struct gw_error *error) {
    struct gw_request request;
    GW_TRY(communicator->transport->start_send(communicator, to, data, bytes, &request, error));
    return communicator->transport->wait(communicator, &request, 1, error);
}

enum gw_status gw_receive(struct gw_communicator *communicator, int from, void *data, size_t bytes,
                          struct gw_error *error) {
    struct gw_request request;
    GW_TRY(
        communicator->transport->start_receive(communicator, from, data, bytes, &request, error));
    return communicator->transport->wait(communicator, &request, 1, error);
}
