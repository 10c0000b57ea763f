// Nothing: a target that depends on both programs of one machine, so that one build makes them. Built one after the
// other they leave a core idle.
