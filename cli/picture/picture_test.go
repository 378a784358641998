package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"slices"
	"strings"
	"testing"

	"heddle/fabric/topology"
	"heddle/route"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func graphOf(t *testing.T, spec string) *route.Graph {
	t.Helper()
	parsed, err := topology.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	f, _ := parsed.Build()
	return route.NewGraph(f, route.Selection{})
}

func TestLayouts(t *testing.T) {
	tests := []struct {
		spec  string
		shape Shape
		dots  int
		form  string
	}{
		{"fat-tree:k=4", Shape{}, 20, "rows"},
		{"fat-tree:k=40", Shape{}, 100, "rows"},          // 20 sets of cores, 40 pods twice
		{"fat-tree:k=40,lost=0.2", Shape{}, 138, "rows"}, // 58 dots of 7 cores: no two have the same neighbours
		{"taihulight", Shape{}, 160, "rows"},
		{"torus:5x4x3", Shape{Dims: []int{5, 4, 3}}, 20, "grid"},
		{"torus:200x3", Shape{Dims: []int{200, 3}}, 150, "grid"},
		{"ring:n=9", Shape{Dims: []int{9}}, 9, "grid"},
		{"torus:5x4", Shape{Dims: []int{4, 4}}, 20, "circle"},
		{"dragonfly:a=4,p=2,h=2", Shape{Block: 4}, 9, "circle"},
		{"random:switches=900", Shape{}, 225, "circle"},
		{"single:hosts=3", Shape{}, 1, "circle"},
	}
	for _, test := range tests {
		g := graphOf(t, test.spec)
		l := newLayout(g, test.shape)
		form := "rows"
		switch {
		case l.wrap:
			form = "grid"
		case l.bend:
			form = "circle"
		}
		if len(l.at) != test.dots || form != test.form || (form == "rows") != (len(l.marks) > 0) {
			t.Errorf("%s: %d dots in a %s with %d marks, want %d in a %s", test.spec, len(l.at), form, len(l.marks), test.dots, test.form)
		}
		checkDots(t, test.spec, g, l)
	}
}

// checkDots finds switches without a dot, dots without a switch, and dots out of
// the picture or on each other.
func checkDots(t *testing.T, spec string, g *route.Graph, l *layout) {
	t.Helper()
	used := make([]bool, len(l.at))
	for v := range int32(g.NumVertices()) {
		if l.cell[v] < 0 || int(l.cell[v]) >= len(l.at) {
			t.Fatalf("%s: switch %d has no dot", spec, v)
		}
		used[l.cell[v]] = true
	}
	if slices.Contains(used, false) {
		t.Errorf("%s: a dot without a switch", spec)
	}
	places := map[point]bool{}
	for _, at := range l.at {
		if at.x < 0 || at.x > 1 || at.y < 0 || at.y > 1 || places[at] {
			t.Errorf("%s: a dot at %v", spec, at)
		}
		places[at] = true
	}
	if l.gap <= 0 || l.gap > 1 {
		t.Errorf("%s: gap %v", spec, l.gap)
	}
}

// TestLinesCarryTheLargestLoad compares with a look at each edge.
func TestLinesCarryTheLargestLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := rapid.SampledFrom([]string{"fat-tree:k=4", "torus:3x3", "dragonfly:a=3,p=1,h=1", "random:switches=20"}).Draw(t, "fabric")
		f, err := topology.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		g := route.NewGraph(f, route.Selection{})
		l := newLines(g, newLayout(g, Shape{Block: rapid.IntRange(0, 5).Draw(t, "block")}))
		load := rapid.SliceOfN(rapid.Int32Range(0, 9), g.NumEdges(), g.NumEdges()).Draw(t, "load")
		byLine, byDot := l.loads(g, load)
		lines, dots := map[[2]int32]int32{}, map[int32]int32{}
		for e, x := range load {
			a, b := g.Ends(int32(e))
			a, b = l.cell[a], l.cell[b]
			if a == b {
				dots[a] = max(dots[a], x)
			} else {
				lines[[2]int32{min(a, b), max(a, b)}] = max(lines[[2]int32{min(a, b), max(a, b)}], x)
			}
		}
		if len(lines) != len(byLine) {
			t.Fatalf("%d lines, want %d", len(byLine), len(lines))
		}
		for i, x := range byLine {
			if want := lines[[2]int32{l.list[i].a, l.list[i].b}]; x != want {
				t.Fatalf("line %d has load %d, want %d", i, x, want)
			}
		}
		for i, x := range byDot {
			if want, ok := dots[int32(i)]; ok && x != want || !ok && x != -1 {
				t.Fatalf("dot %d has load %d, want %d, %t", i, x, want, ok)
			}
		}
	})
}

func TestChooseKeepsTheMostLoaded(t *testing.T) {
	loads := make([]int32, 3*maxLines)
	for i := range loads {
		loads[i] = int32(i * 7919 % 1000)
	}
	order := choose(loads)
	if len(order) != maxLines {
		t.Fatalf("%d lines, want %d", len(order), maxLines)
	}
	sorted := slices.Sorted(slices.Values(loads))
	for i, at := range order {
		if i > 0 && loads[at] < loads[order[i-1]] {
			t.Fatalf("line %d is below a lighter one", i)
		}
		if want := sorted[len(sorted)-maxLines+i]; i >= maxLines/2 && loads[at] != want {
			t.Fatalf("line %d has load %d, want %d", i, loads[at], want)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(order)))) != maxLines {
		t.Error("a line is drawn twice")
	}
	if got := choose(loads[:5]); len(got) != 5 {
		t.Errorf("%d of 5 lines", len(got))
	}
}

func TestScale(t *testing.T) {
	tests := []struct {
		best, worst int
		top         int
		ticks       []int
	}{
		{0, 0, 1, []int{1}},
		{5, 5, 5, []int{1, 2, 3, 4, 5}},
		{7, 913, 21, []int{5, 10, 15, 21}},
		{20, 113, 60, []int{10, 20, 30, 40, 50, 60}},
		{1000, 1500, 1500, []int{200, 400, 600, 800, 1000, 1200, 1500}},
	}
	for _, test := range tests {
		s := newScale(test.best, test.worst)
		if s.top != test.top || !slices.Equal(s.ticks(), test.ticks) {
			t.Errorf("scale of %d and %d: top %d, ticks %v, want %d, %v", test.best, test.worst, s.top, s.ticks(), test.top, test.ticks)
		}
		last := 0
		for load := range int32(s.top + 3) {
			shade := s.shade(load)
			if shade < last || shade > shades || (shade == 0) != (load == 0) || int(load) >= s.top && shade != shades {
				t.Errorf("top %d: shade of %d is %d after %d", s.top, load, shade, last)
			}
			last = shade
		}
	}
}

func TestColoursDiffer(t *testing.T) {
	seen := map[any]int{}
	for shade := range shades + 1 {
		c := colourOf(shade)
		if before, ok := seen[c]; ok {
			t.Errorf("shades %d and %d are the same", before, shade)
		}
		seen[c] = shade
	}
}

func TestBins(t *testing.T) {
	if got := strings.Join(newBins(3).names(), " "); got != "0 1 2 3" {
		t.Errorf("bins up to 3: %s", got)
	}
	if got := strings.Join(newBins(40).names(), " "); got != "0 1 2-3 4-7 8-15 16-31 32-40" {
		t.Errorf("bins up to 40: %s", got)
	}
	if got := strings.Join(newBins(40).from(9).names(), " "); got != "8-15 16-31 32-40" {
		t.Errorf("bins from 9 to 40: %s", got)
	}
	if got := strings.Join(newBins(0).from(0).names(), " "); got != "0" {
		t.Errorf("bins of nothing: %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		histogram := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 200).Draw(t, "histogram")
		least := slices.IndexFunc(histogram, func(n int) bool { return n > 0 })
		sum := 0
		for _, n := range newBins(len(histogram) - 1).from(max(0, least)).count(histogram) {
			sum += n
		}
		want := 0
		for _, n := range histogram {
			want += n
		}
		if sum != want {
			t.Fatalf("%d links in bins, want %d", sum, want)
		}
	})
}

// picture is one of a load that differs from link to link.
func pictureOf(t *testing.T, spec string, shape Shape, engines int) Picture {
	g := graphOf(t, spec)
	p := Picture{Title: spec, Graph: g, Shape: shape}
	for i := range engines {
		load := make([]int32, g.NumEdges())
		histogram := make([]int, 10)
		for e := range load {
			load[e] = int32((e + i) % 10)
			histogram[load[e]]++
		}
		p.Series = append(p.Series, Series{Label: "engine", MaxEFI: 9, AvgEFI: 4.5, Histogram: histogram, Load: load})
	}
	return p
}

func TestSVG(t *testing.T) {
	tests := []struct {
		spec    string
		shape   Shape
		engines int
		height  string
	}{
		{"fat-tree:k=4", Shape{}, 1, "784pt"},
		{"torus:4x4x4", Shape{Dims: []int{4, 4, 4}}, 2, "604pt"},
		{"dragonfly:a=4,p=2,h=2", Shape{Block: 4}, 4, "904pt"},
		{"torus:40x30x20,e=1", Shape{Dims: []int{40, 30, 20}}, 1, "784pt"},
		{"single:hosts=2", Shape{}, 10, "1504pt"},
	}
	for _, test := range tests {
		var b bytes.Buffer
		if err := pictureOf(t, test.spec, test.shape, test.engines).SVG(&b); err != nil {
			t.Fatalf("%s: %v", test.spec, err)
		}
		if !strings.Contains(b.String(), `width="1000pt" height="`+test.height+`"`) {
			t.Errorf("%s: not 1000 x %s: %.300s", test.spec, test.height, b.String())
		}
		got := texts(t, b.Bytes())
		if !slices.Contains(got, test.spec) || !slices.Contains(got, "engine: at most 9 trees on a link, 4.50 on average") {
			t.Errorf("%s: texts %q", test.spec, got)
		}
		if b.Len() > 2<<20 {
			t.Errorf("%s: %d bytes", test.spec, b.Len())
		}
	}
}

func TestPNG(t *testing.T) {
	var b bytes.Buffer
	if err := pictureOf(t, "torus:4x4", Shape{Dims: []int{4, 4}}, 1).PNG(&b); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 1500 || size.Y != 1176 {
		t.Errorf("%v, want 1500 x 1176", size)
	}
	colours := map[color.Color]bool{}
	for y := 0; y < 1176; y += 3 {
		for x := 0; x < 1500; x += 3 {
			colours[img.At(x, y)] = true
		}
	}
	for shade := range 10 {
		if c := colourOf(newScale(9, 9).shade(int32(shade))); !colours[c] {
			t.Errorf("the colour of load %d is nowhere", shade)
		}
	}
}

// texts lists the texts of an SVG.
func texts(t *testing.T, svg []byte) (list []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok {
			list = append(list, strings.TrimSpace(string(data)))
		}
	}
}

func TestSameTwice(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := pictureOf(t, "fat-tree:k=6", Shape{}, 3).SVG(w); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(a.String(), b.String()); diff != "" {
		t.Errorf("the same picture differs:\n%s", diff)
	}
}
