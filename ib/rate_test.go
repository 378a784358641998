package ib

import (
	"strconv"
	"testing"
)

// Case S8: sizes and codes are both read.
func TestParseMTU(t *testing.T) {
	runParse(t, ParseMTU, []parseCase[MTU]{
		{text: "256", want: MTU256},
		{text: "512", want: MTU512},
		{text: "1024", want: MTU1024},
		{text: "2048", want: MTU2048},
		{text: "4096", want: MTU4096},
		{text: "1", want: MTU256},
		{text: "5", want: MTU4096},
		{text: "0", err: ErrRange},
		{text: "6", err: ErrRange},
		{text: "1500", err: ErrRange},
		{text: "8192", err: ErrRange},
		{text: "4k", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
}

func TestEveryMTU(t *testing.T) {
	for v := range 256 {
		m := MTU(v)
		got, err := ParseMTU(m.String())
		if (err == nil) != m.IsValid() || (err == nil && got != m) {
			t.Errorf("ParseMTU(%v) = %v, %v", m, got, err)
		}
		if m.IsValid() != (v >= 1 && v <= 5) || (m.Bytes() != 0) != m.IsValid() {
			t.Errorf("%v: %d bytes, valid %v", m, m.Bytes(), m.IsValid())
		}
		if m.IsValid() && MTUFromBytes(m.Bytes()) != m {
			t.Errorf("MTUFromBytes(%d) = %v", m.Bytes(), MTUFromBytes(m.Bytes()))
		}
		checkText(t, m, m.IsValid())
	}
	if MTU(7).String() != "MTU(7)" || MTUFromBytes(1500) != 0 || MTUFromBytes(0) != 0 {
		t.Errorf("got %v, %v and %v", MTU(7), MTUFromBytes(1500), MTUFromBytes(0))
	}
}

// Case S8: what stands in partition files is read, and so are rates.
func TestParseRate(t *testing.T) {
	runParse(t, ParseRate, []parseCase[Rate]{
		{text: "2.5", want: Rate2_5},
		{text: "200", want: Rate200},
		{text: "200G", want: Rate200},
		{text: "200 Gb/s", want: Rate200},
		{text: "200gbps", want: Rate200},
		{text: "200 Gbit/s", want: Rate200},
		{text: "400.0", want: Rate400},
		{text: "1200", want: Rate1200},
		{text: "1600", want: Rate1600},
		// A bare number up to 24 is a code, but no other.
		{text: "2", want: Rate2_5},
		{text: "10", want: Rate120},
		{text: "10G", want: Rate10},
		{text: "10.0", want: Rate10},
		{text: "14", want: Rate168},
		{text: "14 Gbps", want: Rate14},
		{text: "24", want: Rate1200},
		{text: "25", want: Rate25},
		{text: "28", want: Rate28},
		{text: "0", err: ErrRange},
		{text: "1", err: ErrRange},
		{text: "2G", err: ErrRange},
		{text: "33", err: ErrRange},
		{text: "258", err: ErrRange}, // 2 in 8 bits
		{text: "G", err: ErrSyntax},
		{text: "10  G", err: ErrSyntax},
		{text: "-10G", err: ErrSyntax},
		{text: "1e2", err: ErrSyntax},
		{text: "0x10", err: ErrSyntax},
		{text: "inf", err: ErrSyntax},
		{text: "NaN", err: ErrSyntax},
		{text: "2.", err: ErrSyntax},
		{text: ".5", err: ErrSyntax},
		{text: "", err: ErrSyntax},
	})
}

// The codes of the standard's PathRecord, and 25 as Linux has it.
func TestRateCodes(t *testing.T) {
	golden := map[int]float64{
		2: 2.5, 3: 10, 4: 30, 5: 5, 6: 20, 7: 40, 8: 60, 9: 80, 10: 120,
		11: 14, 12: 56, 13: 112, 14: 168, 15: 25, 16: 100, 17: 200, 18: 300,
		19: 28, 20: 50, 21: 400, 22: 600, 23: 800, 24: 1200, 25: 1600,
	}
	for v := range 256 {
		r := Rate(v)
		if r.Gbps() != golden[v] || r.IsValid() != (golden[v] != 0) {
			t.Errorf("%v: %v Gb/s, valid %v", r, r.Gbps(), r.IsValid())
		}
		got, err := ParseRate(r.String())
		if (err == nil) != r.IsValid() || (err == nil && got != r) {
			t.Errorf("ParseRate(%v) = %v, %v", r, got, err)
		}
		if r.IsValid() && RateFromGbps(golden[v]) != r {
			t.Errorf("RateFromGbps(%v) = %v", golden[v], RateFromGbps(golden[v]))
		}
		checkText(t, r, r.IsValid())
	}
	if Rate(1).String() != "Rate(1)" || Rate2_5.String() != "2.5 Gb/s" || RateFromGbps(0) != 0 {
		t.Errorf("got %v, %v, %v", Rate(1), Rate2_5, RateFromGbps(0))
	}
}

func TestRateCompareIsByRate(t *testing.T) {
	for _, c := range []struct {
		a, b Rate
		want int
	}{
		{Rate30, Rate5, 1}, // codes 4 and 5
		{Rate28, Rate300, -1},
		{Rate200, Rate200, 0},
		{0, Rate2_5, -1},
		{0, 200, 0},
	} {
		if c.a.Compare(c.b) != c.want || c.b.Compare(c.a) != -c.want {
			t.Errorf("%v against %v: got %d, want %d", c.a, c.b, c.a.Compare(c.b), c.want)
		}
	}
}

func FuzzParseMTU(f *testing.F) {
	fuzzParse(f, ParseMTU, []string{"4096", "5", "1500", "0x1000"}, func(t *testing.T, s string) {
		v, _ := slowNumber(s, 1, 4096)
		got, err := ParseMTU(s)
		if err == nil && v != uint64(got) && v != uint64(got.Bytes()) {
			t.Errorf("ParseMTU(%q) = %v", s, got)
		}
	})
}

func FuzzParseRate(f *testing.F) {
	fuzzParse(f, ParseRate, []string{"2.5", "200 Gb/s", "10G", "10", "25", "24"}, func(t *testing.T, s string) {
		got, err := ParseRate(s)
		if code, e := strconv.Atoi(s); e == nil && s[0] != '+' && code >= 2 && code <= 24 && (err != nil || int(got) != code) {
			t.Errorf("ParseRate(%q) = %v, %v; want code %d", s, got, err, code)
		}
		if gbps, e := strconv.ParseFloat(s, 64); err == nil && e == nil && gbps > 24 && got.Gbps() != gbps {
			t.Errorf("ParseRate(%q) = %v, want the rate itself", s, got)
		}
	})
}
