package bench

// Case is a row of a table of routing: groups on a fabric.
type Case struct {
	Row             int
	Fabric, Pattern string
	Published       Published
}

// Published are figures of maximum EFI that others gave for a case: a bound that
// was proven or, where Estimate, estimated; minihop-new, sssp-new and fulb as in
// the FULB-MC paper; and four prototypes of better engines.
type Published struct {
	Bound                 int
	Estimate              bool
	M, S, F               int
	Join, Duo, Rip2, Deep int
}

// Target is the published figure that an engine, with an effort, is held
// against; 0 for none.
func (p Published) Target(engine string, effort int) int {
	switch engine {
	case "minihop-new":
		return p.M
	case "sssp-new":
		return p.S
	case "fulb":
		return p.F
	case "weave":
		return [...]int{0, p.Duo, p.Rip2, p.Deep}[effort]
	default:
		return 0
	}
}

// Table lists the rows of the target table, in order.
func Table() []Case {
	const (
		fatTree   = "fat-tree:k=40"
		torus     = "torus:30x20x20,e=2"
		dragonfly = "dragonfly:a=18,p=9,h=9"
	)
	return []Case{
		{1, fatTree, "grid:160x100", Published{2, false, 21, 21, 21, 3, 3, 2, 2}},
		{2, fatTree, "grid:160x100,order=oblivious", Published{2, false, 9, 9, 9, 6, 6, 6, 5}},
		{3, fatTree, "grid:40x20x20", Published{3, false, 41, 41, 41, 4, 4, 4, 3}},
		{4, fatTree, "grid:40x20x20,order=oblivious", Published{3, false, 12, 12, 12, 7, 7, 6, 5}},
		{5, torus, "grid:240x100", Published{2, false, 5, 9, 7, 2, 4, 3, 2}},
		{6, torus, "grid:240x100,order=oblivious", Published{4, false, 32, 19, 14, 11, 11, 11, 10}},
		{7, torus, "grid:30x20x40,order=oblivious", Published{11, true, 43, 35, 26, 23, 23, 22, 20}},
		{8, torus, "random:2000x16", Published{6, true, 26, 17, 16, 13, 13, 12, 11}},
		{9, dragonfly, "grid:81x27x12", Published{3, false, 47, 51, 58, 7, 8, 6, 5}},
		{10, dragonfly, "grid:81x27x12,order=oblivious", Published{6, false, 24, 23, 25, 11, 11, 9, 8}},
		{11, dragonfly, "grid:162x163", Published{2, false, 19, 19, 19, 5, 5, 4, 4}},
		{12, "bluelight", "grid:256x136,procs=4,order=oblivious", Published{15, false, 119, 18, 32, 16, 16, 15, 15}},
		{13, "bluelight", "grid:32x32x34,procs=4", Published{16, false, 128, 16, 128, 17, 16, 16, 16}},
		{14, "bluelight", "grid:32x32x34,procs=4,order=oblivious", Published{32, false, 282, 47, 66, 39, 34, 33, 32}},
		{15, "taihulight", "grid:256x160", Published{4, false, 9, 5, 8, 8, 5, 4, 4}},
		{16, "taihulight", "grid:64x64x40,procs=4", Published{17, false, 34, 17, 34, 20, 19, 18, 17}},
		{17, "taihulight", "grid:64x64x40,procs=4,order=oblivious", Published{42, false, 114, 60, 72, 49, 46, 44, 44}},
	}
}

// Large lists rows past the paper.
func Large() []Case {
	return []Case{
		{Row: 18, Fabric: "fat-tree:k=64", Pattern: "random:20000x16"},
		{Row: 19, Fabric: "dragonfly:a=32,p=16,h=16", Pattern: "random:10000x16"},
	}
}
