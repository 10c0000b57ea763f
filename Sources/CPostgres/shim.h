// libpq for Swift: the library's own header, and the macros that Swift does not import because they are not plain
// integers.
#ifndef SHEAF_CPOSTGRES_SHIM_H
#define SHEAF_CPOSTGRES_SHIM_H

#include <libpq-fe.h>

// Field codes of PQresultErrorField: character constants.
static const int sheaf_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int sheaf_diag_message = PG_DIAG_MESSAGE_PRIMARY;
static const int sheaf_diag_detail = PG_DIAG_MESSAGE_DETAIL;

#endif
