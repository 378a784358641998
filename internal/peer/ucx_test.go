package peer

import (
	"errors"
	"strings"
	"testing"
)

func TestParseUCX(t *testing.T) {
	const head = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
	got, err := parseUCX(head + "200000,0.155,0.496,0.496,15.39,15.39,2016698,2016699\n")
	if want := (UCXResult{0.155, 2016699}); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", head, "1,2,3\n", "1,x,3,4,5,6,7,8\n", "1,2,3,4,5,6,7,x\n"} {
		if got, err := parseUCX(bad); err == nil || got != (UCXResult{}) {
			t.Errorf("%q gives %+v, %v", bad, got, err)
		}
	}
}

// TestUCX runs the program, which must be there.
func TestUCX(t *testing.T) {
	if _, err := Find("ucx_perftest"); err != nil && testing.Short() {
		t.Skip(err)
	}
	for _, test := range []string{"tag_lat", "tag_bw"} {
		r, err := UCXRun{test, 8, 1000}.Run(t.Context(), t.TempDir())
		if err != nil || r.Median <= 0 || r.Rate <= 0 {
			t.Errorf("%s: %+v, %v", test, r, err)
		}
	}
	if v, err := Version(t.Context(), "ucx_info"); err != nil || !strings.HasPrefix(v, "UCX 1.") {
		t.Errorf("version %q, %v", v, err)
	}
}

func TestUCXIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := UCXRun{"tag_lat", 8, 1}.Run(t.Context(), t.TempDir())
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Package != "ucx-utils" {
		t.Errorf("%v", err)
	}
}
