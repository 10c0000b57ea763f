// libxml2's parser and tree.
#ifndef SHEAF_CXML_SHIM_H
#define SHEAF_CXML_SHIM_H

// Debian's libxml2 has members of ICU's types in its encoders, whose headers clash with those of Foundation's own ICU.
// Nothing here uses an encoder.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>

// `xmlFree` is a variable, which Swift takes for state that threads share.
static inline void sheaf_xml_free(void *memory) { xmlFree(memory); }

#endif
