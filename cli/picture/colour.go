package picture

import (
	"image/color"
	"math"
)

// seriesColours tell engines apart, also for eyes that do not tell red from
// green.
func seriesColours() []color.Color {
	return []color.Color{
		color.RGBA{0x8c, 0x8c, 0x8c, 0xff}, // grey
		color.RGBA{0xe6, 0x9f, 0x00, 0xff}, // orange
		color.RGBA{0x56, 0xb4, 0xe9, 0xff}, // sky
		color.RGBA{0x00, 0x72, 0xb2, 0xff}, // blue
		color.RGBA{0xcc, 0x79, 0xa7, 0xff}, // rose
		color.RGBA{0x00, 0x9e, 0x73, 0xff}, // green
		color.RGBA{0x5b, 0x2c, 0x6f, 0xff}, // violet
		color.RGBA{0xd5, 0x5e, 0x00, 0xff}, // vermilion
		color.RGBA{0x30, 0x30, 0x30, 0xff}, // black
	}
}

// shades is the number of colours of the load scale.
const shades = 24

// scale gives loads a shade, evenly from 0 to a top; what is above the top has the
// last shade.
type scale struct{ top int }

// headroom is how many times the maximum EFI of the best engine the top of the
// scale is at most, so that engines that come near it can be told apart however
// bad others are.
const headroom = 3

// newScale makes the scale for the maximum EFIs of some engines.
func newScale(best, worst int) scale { return scale{max(1, min(headroom*best, worst))} }

// shade is 0 for no load and 1 to shades for others.
func (s scale) shade(load int32) int {
	if load <= 0 {
		return 0
	}
	return 1 + min(shades-1, int(s.at(load)*shades))
}

// at is the place of a load on the scale, 0 to 1.
func (s scale) at(load int32) float64 { return min(1, float64(load)/float64(s.top)) }

// ticks are some loads on the scale, evenly spaced, and its top.
func (s scale) ticks() []int {
	const most = 8
	step := 1
	for i := 0; s.top > most*step; i++ {
		step = []int{1, 2, 5}[i%3] * int(math.Pow10(i/3))
	}
	var list []int
	for t := step; 2*t+step <= 2*s.top-step; t += step {
		list = append(list, t)
	}
	return append(list, s.top)
}

// stops are the colours of the scale from light load to heavy load.
func stops() [][3]float64 {
	return [][3]float64{
		{198, 219, 239}, {120, 174, 214}, {120, 190, 130}, {240, 200, 70}, {238, 120, 40}, {190, 20, 40}, {90, 0, 50},
	}
}

// colourOf is the colour of a shade.
func colourOf(shade int) color.Color {
	if shade == 0 {
		return color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	}
	stops := stops()
	at := float64(shade-1) / (shades - 1) * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	var c [3]uint8
	for k := range c {
		c[k] = uint8(stops[i][k] + (at-float64(i))*(stops[i+1][k]-stops[i][k]))
	}
	return color.RGBA{c[0], c[1], c[2], 0xff}
}
