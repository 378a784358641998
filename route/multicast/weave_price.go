package multicast

import "math"

// slope is how the price of an edge grows with its load: steep times more for
// each tree more, so that what counts is to keep away from the most loaded
// edges; and below that a floor, a power of the load, so that trees stay short
// and the rest is spread too.
type slope struct {
	steep, floor float64
}

// floorPower is the power of the floor.
const floorPower = 6

// prices is a table of prices by load. Only ratios count: the price of the top
// load is about 1.
type prices struct {
	slope
	top   int
	table []float64
}

// set makes the table good for loads up to top. The table is made anew only
// where something changed, which is seldom.
func (p *prices) set(s slope, top int) {
	if p.slope == s && p.top == top && p.table != nil {
		return
	}
	p.slope, p.top = s, top
	p.table = p.table[:0]
	for l := range top + 2 {
		x := math.Pow(s.steep, float64(l-top))
		p.table = append(p.table, x+s.floor*math.Pow(float64(l+1)/float64(top+1), floorPower))
	}
}
