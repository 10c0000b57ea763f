#define _GNU_SOURCE
#include "sheaf_libraries.h"

#include <elf.h>
#include <link.h>
#include <string.h>

struct each {
  void (*body)(void *context, const char *path, const uint8_t *buildID, size_t size);
  void *context;
};

static size_t padded(size_t size) { return (size + 3) & ~(size_t)3; }

// The build ID in a segment of notes. NULL if there is none.
static const uint8_t *build_id(const uint8_t *notes, size_t length, size_t *size) {
  while (length >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    memcpy(&head, notes, sizeof head);
    size_t name = padded(head.n_namesz), whole = sizeof head + name + padded(head.n_descsz);
    if (whole > length) return NULL;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && memcmp(notes + sizeof head, "GNU", 4) == 0) {
      *size = head.n_descsz;
      return notes + sizeof head + name;
    }
    notes += whole;
    length -= whole;
  }
  return NULL;
}

static int visit(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  struct each *each = data;
  const uint8_t *id = NULL;
  size_t idSize = 0;
  for (int index = 0; index < object->dlpi_phnum && !id; index++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
    if (segment->p_type != PT_NOTE) continue;
    id = build_id((const uint8_t *)object->dlpi_addr + segment->p_vaddr, segment->p_memsz, &idSize);
  }
  each->body(each->context, object->dlpi_name, id, idSize);
  return 0;
}

void sheaf_each_library(void (*body)(void *context, const char *path, const uint8_t *buildID, size_t size),
                        void *context) {
  struct each each = {body, context};
  dl_iterate_phdr(visit, &each);
}
