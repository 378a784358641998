// Package pattern makes multicast groups as programs use them: the rows of
// process grids, trees of leaders, random groups, and groups from a file.
//
//	groups, err := pattern.Generate(f, "grid:81x27x12,order=oblivious,seed=1")
//
// [Names] lists the patterns and [Usage] explains one. A pattern is made of
// processes, numbered by rank from 0, and of a placement that says on which end
// port each rank runs:
//
//	procs=N          N consecutive ranks on each end port (1)
//	order=aware      end ports in the order of their leaf switch's index and
//	                 its port number (the default)
//	order=oblivious  the places of all ranks shuffled, by seed=N (1)
//	placement=FILE   one end port a line, in rank order: a name, an id, a GUID or
//	                 NODE:PORT; with order=oblivious, shuffled
//	skip=aggregation without the aggregation nodes inside of switches
//
// The shuffle moves single ranks, not end ports with all of their ranks: with
// procs=4 the four processes of an end port come from anywhere. It and the random
// groups use the generator of math/rand that [math/rand.NewSource] seeds: with it
// and this reading, minihop-new and fulb give the figures of the published
// target table to the digit.
//
// Processes of one group on the same end port make one member, at the place of
// the first. A pattern that needs more processes than there is room for is an
// error.
package pattern
