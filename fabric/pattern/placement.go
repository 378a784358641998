package pattern

import (
	"cmp"
	"fmt"
	"math/rand"
	"os"
	"slices"

	"heddle/fabric"
	"heddle/fabric/internal/spec"
)

// Limits that keep a text from exhausting memory: 4 bytes a rank, 8 a member.
const (
	maxProcs   = 1 << 16
	maxRanks   = 1 << 26
	maxMembers = 1 << 26
)

// The values of order.
const (
	aware     = "aware"
	oblivious = "oblivious"
	fromFile  = "file"
)

// placement says how ranks are put on end ports.
type placement struct {
	procs int
	order string
	seed  uint64
	file  string // "" for all end ports of the fabric
	skip  bool   // leave out aggregation nodes
}

func parsePlacement(a *spec.Args, seed uint64) placement {
	p := placement{procs: 1, order: aware, seed: a.Seed("seed", seed)}
	p.file, _ = a.Text("placement")
	_, given := a.Text("order")
	p.order = a.Word("order", aware, oblivious, fromFile)
	switch {
	case p.file != "" && !given:
		p.order = fromFile
	case p.file != "" && p.order == aware:
		a.Failf("order", "a placement file has an order of its own")
	case p.file == "" && p.order == fromFile:
		a.Failf("order", "it needs placement=FILE")
	}
	if word, ok := a.Text("skip"); ok {
		if p.skip = word == "aggregation"; !p.skip {
			a.Failf("skip", "want aggregation")
		}
	}
	return p
}

func parseProcs(a *spec.Args) int { return a.Int("procs", 1, 1, maxProcs) }

// ranks says where each process runs.
type ranks struct {
	ends []fabric.End // distinct
	at   []int32      // by rank: an index into ends
}

// place puts ranks on all end ports.
func (p placement) place(f *fabric.Fabric) (*ranks, error) {
	list, err := p.list(f)
	if err != nil {
		return nil, err
	}
	if n := spec.Product(len(list), p.procs); n > maxRanks {
		return nil, fmt.Errorf("%d processes on each of %d end ports are too many: %d ranks are the limit",
			p.procs, len(list), maxRanks)
	}
	r := newRanks(f, list, p.procs)
	if p.order == oblivious {
		p.random().Shuffle(len(r.at), func(i, j int) { r.at[i], r.at[j] = r.at[j], r.at[i] })
	}
	return r, nil
}

// random is the source of all chance in patterns: the old generator of
// math/rand, whose numbers for a seed never change, since the target table was
// made with it.
func (p placement) random() *rand.Rand { return rand.New(rand.NewSource(int64(p.seed))) }

// newRanks numbers the distinct ends of a list.
func newRanks(f *fabric.Fabric, list []fabric.End, procs int) *ranks {
	r := &ranks{at: make([]int32, 0, len(list)*procs)}
	numbers := newPortTable(f)
	for _, e := range list {
		number := numbers.of(e)
		if *number == 0 {
			r.ends = append(r.ends, e)
			*number = int32(len(r.ends))
		}
		for range procs {
			r.at = append(r.at, *number-1)
		}
	}
	return r
}

// list is the end ports in rank order, before any shuffle.
func (p placement) list(f *fabric.Fabric) ([]fabric.End, error) {
	if p.file == "" {
		return awareEnds(f, p.skip), nil
	}
	file, err := os.Open(p.file)
	if err != nil {
		return nil, fmt.Errorf("placement: %w", err)
	}
	defer file.Close()
	return ReadPlacement(file, p.file, f)
}

// awareEnds lists the end ports on live switches by leaf and leaf port.
func awareEnds(f *fabric.Fabric, skipAggregation bool) []fabric.End {
	type hung struct{ end, leaf fabric.End }
	var all []hung
	for _, e := range f.EndPorts() {
		leaf, ok := f.Leaf(e)
		if ok && !(skipAggregation && f.Node(e.Node).Aggregation) {
			all = append(all, hung{e, leaf})
		}
	}
	slices.SortStableFunc(all, func(x, y hung) int {
		return cmp.Or(cmp.Compare(x.leaf.Node, y.leaf.Node), cmp.Compare(x.leaf.Port, y.leaf.Port))
	})
	ends := make([]fabric.End, len(all))
	for i, h := range all {
		ends[i] = h.end
	}
	return ends
}
