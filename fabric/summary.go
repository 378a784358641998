package fabric

import "encoding/json"

// Summary is a fabric in numbers, and what is wrong with it. In JSON it is an
// object with one field for each of Go's, in lower camel case.
type Summary struct {
	// Switches, Adapters and Routers count the live nodes.
	Switches int `json:"switches"`
	Adapters int `json:"adapters"`
	Routers  int `json:"routers"`
	// LinkEnds counts the ports with a live link.
	LinkEnds int `json:"linkEnds"`
	// Components counts the connected parts of the live graph.
	Components int     `json:"components"`
	Faults     []Fault `json:"faults"`
}

// Summary counts what is alive in the fabric and adds the faults that were
// found with it; none becomes an empty list, not nil.
func (f *Fabric) Summary(faults []Fault) Summary {
	return Summary{
		Switches:   f.numUp(f.switches),
		Adapters:   f.numUp(f.adapters),
		Routers:    f.numUp(f.routers),
		LinkEnds:   f.LinkEnds(),
		Components: len(f.Components()),
		Faults:     append([]Fault{}, faults...),
	}
}

func (f *Fabric) numUp(ids []NodeID) (n int) {
	for _, id := range ids {
		if f.NodeUp(id) {
			n++
		}
	}
	return n
}

// LinkEnds is the number of ports with a live link: two for each link, be it
// one from a node to itself.
func (f *Fabric) LinkEnds() (n int) {
	for i := range f.links {
		if f.LinkUp(LinkID(i)) {
			n += 2
		}
	}
	return n
}

// MarshalJSON writes a flat object: kind, severity, file and line (left out
// where there is none), otherFile and otherLine (the same), text.
func (f Fault) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind      FaultKind `json:"kind"`
		Severity  Severity  `json:"severity"`
		File      string    `json:"file,omitempty"`
		Line      int       `json:"line,omitempty"`
		OtherFile string    `json:"otherFile,omitempty"`
		OtherLine int       `json:"otherLine,omitempty"`
		Text      string    `json:"text"`
	}{f.Kind, f.Severity, f.At.File, f.At.Line, f.Other.File, f.Other.Line, f.Text})
}
