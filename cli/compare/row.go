package compare

import (
	"fmt"
	"math"
	"time"

	"heddle/route"
)

// Timing is how long routing took, in milliseconds: finding roots, all else, and
// both.
type Timing struct {
	RootMs  float64 `json:"rootMs"`
	BuildMs float64 `json:"buildMs"`
	TotalMs float64 `json:"totalMs"`
}

// Row is one line of a comparison: how good the trees of one engine are, and how
// long they took.
type Row struct {
	Engine string `json:"engine"`
	// Effort is 0 for an engine that knows none.
	Effort int `json:"effort"`
	// Groups and Members count what is routed, without members cut off.
	Groups  int `json:"groups"`
	Members int `json:"members"`
	// MaxEFI and AvgEFI are of the links between switches, Links counts those of
	// them that are in a tree. LowerBound is what no trees can be better than.
	MaxEFI     int     `json:"maxEFI"`
	AvgEFI     float64 `json:"avgEFI"`
	LowerBound int     `json:"lowerBound"`
	Links      int     `json:"links"`
	// MaxHeight counts hops from a root to the farthest adapter.
	MaxHeight int `json:"maxHeight"`
	// HopsMs and DemandMs are what the hop table and the leaf switches of the
	// members took; all engines share them.
	HopsMs   float64 `json:"hopsMs"`
	DemandMs float64 `json:"demandMs"`
	Timing
	// PeakBytes is the most memory that the process has had so far, so it is of
	// this engine in a process that runs no other: VmHWM on Linux, elsewhere what
	// Go got from the system.
	PeakBytes int64 `json:"peakBytes"`
	// Valid tells that route.Check found nothing; Faults are what it found.
	Valid  bool     `json:"valid"`
	Faults []string `json:"faults,omitempty"`
	// Cyclic tells that the channel dependencies of the trees have a cycle.
	Cyclic bool `json:"cyclic"`
	// CutOff lists the members that no tree can reach.
	CutOff []CutOff `json:"cutOff"`
	// Error tells why the engine gave up.
	Error string `json:"error,omitempty"`
}

// CutOff is a member that no tree of its group can reach.
type CutOff struct {
	Group  string `json:"group"`
	Member string `json:"member"`
	Why    string `json:"why"`
}

// String is one line.
func (c CutOff) String() string { return fmt.Sprintf("%s of %s: %s", c.Member, c.Group, c.Why) }

// CutOff lists the members that no tree can reach, by name.
func (p *Problem) CutOff() []CutOff {
	cut := []CutOff{}
	for _, c := range p.Demand.CutOff() {
		name := p.Demand.Group(c.Group).Name
		if name == "" {
			name = fmt.Sprintf("group %d", c.Group)
		}
		cut = append(cut, CutOff{name, p.Graph.Fabric().EndLabel(c.Member), c.Why})
	}
	return cut
}

// describe sets what all rows of a problem have in common.
func (p *Problem) describe(r *Row) {
	r.HopsMs, r.DemandMs = ms(p.HopsTime), ms(p.DemandTime)
	r.LowerBound = p.Bound
	r.CutOff = p.CutOff()
}

// measure takes over the measures; of an engine that failed only what was asked
// of it.
func (r *Row) measure(m route.Measures) {
	r.Groups, r.Members = m.Groups, m.Members
	if r.Error != "" {
		return
	}
	r.MaxEFI, r.AvgEFI, r.Links, r.MaxHeight = m.MaxEFI, m.AvgEFI, m.Links, m.MaxHeight
}

// ms is a duration in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }
