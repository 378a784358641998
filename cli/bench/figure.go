package bench

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Figure is one figure, a median of runs, of a case on a fabric or a device.
type Figure struct {
	Fabric string `json:"fabric,omitempty"`
	Device string `json:"device,omitempty"` // with its provider: shm/shm0
	Case   string `json:"case"`
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// Ours is heddle's, Peer that of the peer where it was measured, Ratio
	// Ours/Peer.
	Ours  float64  `json:"ours"`
	Peer  *float64 `json:"peer,omitempty"`
	Ratio *float64 `json:"ratio,omitempty"`
	Runs  int      `json:"runs"`
	// PeerName is the peer with its version, With what else took part.
	PeerName string   `json:"peerName,omitempty"`
	With     []string `json:"with,omitempty"`
}

// compare sets the peer's figure, and the ratio where there is one.
func (f *Figure) compare(peer float64) {
	f.Peer = &peer
	if peer != 0 {
		ratio := f.Ours / peer
		f.Ratio = &ratio
	}
}

// on is what was measured.
func (f *Figure) on() string { return cmp.Or(f.Fabric, f.Device) }

// FigureGrids are a table for each run of figures of one fabric or device and case.
func FigureGrids(list []Figure) []Grid {
	var grids []Grid
	for i, f := range list {
		if i == 0 || f.on() != list[i-1].on() || f.Case != list[i-1].Case {
			grids = append(grids, f.grid())
		}
		g := &grids[len(grids)-1]
		g.Rows = append(g.Rows, f.row())
	}
	return grids
}

func (f Figure) grid() Grid {
	g := Grid{Title: f.Case + ", " + f.on(), Head: []string{"", "unit", "heddle"}}
	if f.PeerName != "" {
		g.Head = append(g.Head, f.PeerName, "ratio")
	}
	g.Head = append(g.Head, "runs")
	if len(f.With) > 0 {
		g.Note = "With " + strings.Join(f.With, ", ") + "."
	}
	return g
}

func (f Figure) row() []string {
	row := []string{f.Metric, f.Unit, number(&f.Ours)}
	if f.PeerName != "" {
		row = append(row, number(f.Peer), ratio(f.Ratio))
	}
	return append(row, strconv.Itoa(f.Runs))
}

// number has three digits, or all of a larger whole number.
func number(x *float64) string {
	switch {
	case x == nil:
		return "-"
	case *x == 0 || *x >= 100:
		return strconv.FormatFloat(*x, 'f', 0, 64)
	case *x == float64(int(*x)):
		return strconv.Itoa(int(*x))
	default:
		return fmt.Sprintf("%.3g", *x)
	}
}

func ratio(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *x)
}
