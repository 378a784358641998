package bench

import (
	"errors"
	"fmt"
	"strconv"

	"heddle/cli/compare"
	"heddle/fabric"
	"heddle/route"
)

// Reroute is how long it takes to route anew what a loss cost, beside routing
// all groups anew on a fabric whose hop table is there. Times are medians in
// milliseconds, by one thread.
type Reroute struct {
	Number  int    `json:"row"`
	Fabric  string `json:"fabric"`
	Pattern string `json:"pattern"`
	// Case is what is lost.
	Case   string `json:"case"`
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Engine string `json:"engine"`
	// Ours is the time for the graph, the hop table and the lost groups, Peer
	// that of the same engine for all groups, Ratio Ours/Peer.
	Ours  float64 `json:"ours"`
	Peer  float64 `json:"peer"`
	Ratio float64 `json:"ratio"`
	Runs  int     `json:"runs"`
	// Groups counts all groups.
	Groups int `json:"groups"`
	compare.Rerouting
}

// RerouteRows are the rows that are rerouted if none are named.
func RerouteRows() []int { return []int{4} }

// loss is something that can be lost.
type loss struct {
	name string
	find func(*route.State) compare.Loss
}

func losses() []loss {
	return []loss{
		{"the most loaded link", func(s *route.State) compare.Loss {
			return compare.Loss{Links: []fabric.LinkID{linkOf(s, most(s.Load()))}}
		}},
		{"the most used switch without hosts", func(s *route.State) compare.Loss {
			v := transit(s)
			if v < 0 {
				return compare.Loss{}
			}
			return compare.Loss{Nodes: []fabric.NodeID{s.Graph.Node(v)}}
		}},
	}
}

// most is the lowest index of the largest number.
func most(list []int32) int32 {
	best := 0
	for i, x := range list {
		if x > list[best] {
			best = i
		}
	}
	return int32(best)
}

func linkOf(s *route.State, e int32) fabric.LinkID {
	a, _ := s.Graph.Ends(e)
	return s.Graph.Fabric().Port(fabric.End{Node: s.Graph.Node(a), Port: s.Graph.PortOf(a, e)}).Link
}

// transit is the switch without hosts that the most trees pass through; where
// all have hosts, -1.
func transit(s *route.State) int32 {
	best := int32(-1)
	for v, n := range s.Through() {
		if s.Graph.HostsAt(int32(v)) == 0 && (best < 0 || n > s.Through()[best]) {
			best = int32(v)
		}
	}
	return best
}

// Reroute measures each loss that a case can have, and tells of each.
func (b *Bench) Reroute(cases []Case, runs []compare.Run, times int, tell func(Reroute) error) error {
	defer oneProcessor()()
	for _, c := range cases {
		problem, err := b.problem(c)
		if err != nil {
			return fmt.Errorf("row %d: %w", c.Row, err)
		}
		for _, run := range runs {
			for _, l := range losses() {
				r, err := b.reroute(c, problem, run, l, times)
				if errors.Is(err, compare.ErrNoLoss) {
					continue // a torus has no switch without hosts
				}
				if err != nil {
					return fmt.Errorf("row %d: %s: %w", c.Row, l.name, err)
				}
				if err := tell(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *Bench) reroute(c Case, p *compare.Problem, run compare.Run, l loss, times int) (Reroute, error) {
	var all []compare.Timing
	var again []compare.Rerouting
	for turn := range times {
		b.watch("row %d %s without %s, run %d of %d", c.Row, run.Label(), l.name, turn+1, times)
		t, r, err := p.Reroute(run, l.find)
		if err != nil {
			return Reroute{}, err
		}
		all, again = append(all, t), append(again, r)
	}
	r := Reroute{
		Number: c.Row, Fabric: c.Fabric, Pattern: c.Pattern, Case: l.name, Metric: "rerouting", Unit: "ms",
		Engine: run.Label(), Runs: times, Groups: p.Demand.NumGroups(), Rerouting: again[0],
		Peer: median(all, func(t compare.Timing) float64 { return t.TotalMs }),
	}
	for _, m := range []struct {
		to   *float64
		from func(compare.Rerouting) float64
	}{
		{&r.Ours, func(t compare.Rerouting) float64 { return t.TotalMs }},
		{&r.TotalMs, func(t compare.Rerouting) float64 { return t.TotalMs }},
		{&r.GraphMs, func(t compare.Rerouting) float64 { return t.GraphMs }},
		{&r.HopsMs, func(t compare.Rerouting) float64 { return t.HopsMs }},
		{&r.RebaseMs, func(t compare.Rerouting) float64 { return t.RebaseMs }},
		{&r.RouteMs, func(t compare.Rerouting) float64 { return t.RouteMs }},
	} {
		*m.to = median(again, m.from)
	}
	r.Ratio = r.Ours / r.Peer
	return r, nil
}

// RerouteGrid shows how rerouting compares with routing all.
func RerouteGrid(list []Reroute) Grid {
	g := Grid{
		Title: "Rerouting after a loss",
		Head: []string{
			"row", "fabric", "pattern", "engine", "lost", "groups lost", "of", "ms", "graph", "hop table", "rebase", "route",
			"all groups ms", "share", "max EFI before", "after",
		},
		Note: "One thread, medians. Only groups that used what is lost are routed anew; the graph and\n" +
			"the hop table are mended, and that counts. Routing all groups finds its hop table ready.",
	}
	for _, r := range list {
		g.Rows = append(g.Rows, []string{
			strconv.Itoa(r.Number), r.Fabric, r.Pattern, r.Engine, r.Case, strconv.Itoa(r.Lost), strconv.Itoa(r.Groups),
			fmt.Sprintf("%.3f", r.Ours), fmt.Sprintf("%.3f", r.GraphMs), fmt.Sprintf("%.3f", r.HopsMs), fmt.Sprintf("%.3f", r.RebaseMs),
			fmt.Sprintf("%.3f", r.RouteMs), fmt.Sprintf("%.1f", r.Peer), fmt.Sprintf("%.1f %%", 100*r.Ratio),
			strconv.Itoa(r.MaxBefore), strconv.Itoa(r.MaxAfter),
		})
	}
	return g
}
