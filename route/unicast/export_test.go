package unicast

// FindRoots is findRoots, for tests.
var FindRoots = findRoots
