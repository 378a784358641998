package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func svgOf(t *testing.T, c Chart) string {
	t.Helper()
	var b strings.Builder
	if err := c.SVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// texts lists the texts of an SVG.
func texts(t *testing.T, svg string) (list []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
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

func TestChart(t *testing.T) {
	c := Chart{Title: "Figures", Panels: []Panel{
		{
			Title: "lines", X: "bytes", Y: "us", LogX: true, LogY: true,
			Lines: []Line{{"one", []float64{8, 64, 4096}, []float64{0.1, 0.2, 5}}, {"two", []float64{8}, []float64{1}}},
		},
		{Title: "dots", X: "HRT", Y: "us", Dots: []Dot{{"near", 1, 0.1}, {"there", 1, 0.1}, {"far", 4, 0.5}}},
	}}
	svg := svgOf(t, c)
	got := texts(t, svg)
	for _, want := range []string{"Figures", "lines", "dots", "one", "two", "near", "there", "far", "HRT", "bytes"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if svgOf(t, c) != svg {
		t.Error("the same chart differs")
	}
}

func TestChartsThatCannotBe(t *testing.T) {
	for want, c := range map[string]Chart{
		"no panel":    {Title: "empty"},
		"1 and 2":     {Panels: []Panel{{Lines: []Line{{"x", []float64{1}, []float64{1, 2}}}}}},
		"a logarithm": {Panels: []Panel{{LogX: true, Lines: []Line{{"x", []float64{0, 1}, []float64{1, 2}}}}}},
		"of 0":        {Panels: []Panel{{LogY: true, Lines: []Line{{"x", []float64{1, 2}, []float64{0, 2}}}}}},
	} {
		if err := c.SVG(io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
