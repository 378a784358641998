// Package compare routes one set of groups with several engines and says, for
// each, how good the trees are and how long it took. What it returns are values:
// a table for people and lines of JSON are two ways to write the same rows.
//
//	network, err := compare.NewNetwork(f, compare.Options{})
//	problem := network.Problem(groups)
//	runs, err := compare.Runs([]string{"all"}, []int{1})
//	for _, run := range runs {
//		result := problem.Route(run)
//		fmt.Println(result.Engine, result.MaxEFI)
//	}
package compare
