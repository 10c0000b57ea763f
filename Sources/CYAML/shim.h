// libyaml's parser.
#include <yaml.h>
