package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"heddle/cli/compare"
	"heddle/route"
	"heddle/route/multicast"
)

// Speed is how long one engine takes for one case beside the peer, which is
// sssp-new as in the FULB-MC paper: each switch is looked at for each member to
// find roots, and Dijkstra's algorithm runs over all switches for each group.
// Times are medians in milliseconds, by one thread, roots included with finders
// and routers that are new in each run, without the hop table.
type Speed struct {
	Number  int    `json:"row"`
	Fabric  string `json:"fabric"`
	Pattern string `json:"pattern"`
	// Case is the engine that is compared, with its effort.
	Case   string  `json:"case"`
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Ours   float64 `json:"ours"`
	Peer   float64 `json:"peer"`
	// Ratio is Ours/Peer, Faster its reciprocal.
	Ratio  float64 `json:"ratio"`
	Faster float64 `json:"faster"`
	// Runs of ours, PeerRuns of the peer, which may be fewer where it is slow.
	Runs       int     `json:"runs"`
	PeerRuns   int     `json:"peerRuns"`
	OursRootMs float64 `json:"oursRootMs"`
	PeerRootMs float64 `json:"peerRootMs"`
	HopsMs     float64 `json:"hopsMs"`
}

// SpeedRows are the rows whose speed is compared if none are named.
func SpeedRows() []int { return []int{4, 7, 10, 17} }

// peerBudget is the PeerBudget where none is set.
const peerBudget = 45 * time.Second

// Speed compares the runs with the peer, interleaved, and tells of each case.
func (b *Bench) Speed(cases []Case, runs []compare.Run, times int, tell func(Speed) error) error {
	defer oneProcessor()()
	peer, err := paperRun()
	if err != nil {
		return err
	}
	for _, c := range cases {
		problem, err := b.problem(c)
		if err != nil {
			return fmt.Errorf("row %d: %w", c.Row, err)
		}
		timings, err := b.interleave(c, problem, append([]compare.Run{peer}, runs...), times)
		if err != nil {
			return fmt.Errorf("row %d: %w", c.Row, err)
		}
		for i, run := range runs {
			if err := tell(speed(c, problem, run, timings[i+1], timings[0])); err != nil {
				return err
			}
		}
	}
	return nil
}

// paperRun is sssp-new as in the paper.
func paperRun() (compare.Run, error) {
	e, err := multicast.Lookup("sssp-new-heap")
	return compare.Run{Engine: e, Finder: route.NewScanFinder}, err
}

// interleave times each run so often, in turns; the first of them only as often
// as the PeerBudget allows, but at least once.
func (b *Bench) interleave(c Case, p *compare.Problem, runs []compare.Run, times int) ([][]compare.Timing, error) {
	timings := make([][]compare.Timing, len(runs))
	budget, spent := cmp.Or(b.PeerBudget, peerBudget), time.Duration(0)
	for turn := range times {
		for i, run := range runs {
			if i == 0 && turn > 0 && spent+spent/time.Duration(turn) > budget {
				continue
			}
			b.watch("row %d %s, run %d of %d", c.Row, run.Label(), turn+1, times)
			start := time.Now()
			t, err := p.Lay(run)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				spent += time.Since(start)
			}
			timings[i] = append(timings[i], t)
		}
	}
	return timings, nil
}

func speed(c Case, p *compare.Problem, run compare.Run, ours, peer []compare.Timing) Speed {
	total := func(t compare.Timing) float64 { return t.TotalMs }
	roots := func(t compare.Timing) float64 { return t.RootMs }
	s := Speed{
		Number: c.Row, Fabric: c.Fabric, Pattern: c.Pattern, Case: run.Label(), Metric: "routing", Unit: "ms",
		Ours: median(ours, total), Peer: median(peer, total), Runs: len(ours), PeerRuns: len(peer),
		OursRootMs: median(ours, roots), PeerRootMs: median(peer, roots),
		HopsMs: float64(p.HopsTime.Microseconds()) / 1e3,
	}
	s.Ratio, s.Faster = s.Ours/s.Peer, s.Peer/s.Ours
	return s
}

// median of one figure of some runs, at least one.
func median[T any](list []T, value func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, t := range list {
		values[i] = value(t)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// SpeedGrid shows how fast engines are.
func SpeedGrid(list []Speed) Grid {
	g := Grid{
		Title: "Speed against sssp-new done as in the paper",
		Head:  []string{"row", "fabric", "pattern", "engine", "ms", "its roots", "paper ms", "its roots", "faster", "runs", "paper's", "hop table ms"},
		Note: "One thread, medians of interleaved runs, roots included with nothing cached, the hop\n" +
			"table excluded on both sides.",
	}
	for _, s := range list {
		g.Rows = append(g.Rows, []string{
			strconv.Itoa(s.Number), s.Fabric, s.Pattern, s.Case,
			fmt.Sprintf("%.1f", s.Ours), fmt.Sprintf("%.1f", s.OursRootMs), fmt.Sprintf("%.1f", s.Peer), fmt.Sprintf("%.1f", s.PeerRootMs),
			fmt.Sprintf("%.1fx", s.Faster), strconv.Itoa(s.Runs), strconv.Itoa(s.PeerRuns), fmt.Sprintf("%.0f", s.HopsMs),
		})
	}
	return g
}
