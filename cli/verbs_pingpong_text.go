package cli

import (
	"fmt"
	"io"
	"strings"

	"heddle/cli/perf"
	"heddle/cli/text"
)

// pingPongView is a result as JSON.
type pingPongView struct {
	Test        string      `json:"test"`
	Op          string      `json:"op"`
	QP          string      `json:"qp"`
	Size        int         `json:"size"`
	Iters       int         `json:"iters"`
	Ends        [2]string   `json:"ends"`
	Assumed     []string    `json:"assumed,omitempty"`
	Us          *perf.Times `json:"us,omitempty"`
	PerSecond   float64     `json:"messagesPerSecond,omitempty"`
	GBPerSecond float64     `json:"gigabytesPerSecond,omitempty"`
	Allocs      uint64      `json:"allocations"`
	Checked     int         `json:"checked"`
}

func (a *app) pingPongResult(r perf.Result, f pingPongFlags) error {
	if !f.json {
		_, err := io.WriteString(a.out, pingPongText(r, f.assume))
		return err
	}
	v := pingPongView{
		Test: string(r.Test), Op: r.Op.String(), QP: r.Service.String(), Size: r.Size, Iters: r.Iters, Ends: [2]string{r.First, r.Second},
		Assumed: f.assume, Allocs: r.Allocs, Checked: r.Checked,
	}
	if r.Test == perf.Stream {
		v.PerSecond, v.GBPerSecond = r.Rate, r.Bandwidth()/1e9
	} else {
		v.Us = &r.Times
	}
	return writeJSON(a.out, v)
}

func pingPongText(r perf.Result, assumed []string) string {
	w := new(strings.Builder)
	fmt.Fprintf(w, "%v over %v, %s, %s to %s\n", r.Op, r.Service, text.Count(r.Size, "byte"), r.First, r.Second)
	if len(assumed) > 0 {
		fmt.Fprintf(w, "assumed: %s\n", strings.Join(assumed, ", "))
	}
	if r.Test == perf.Stream {
		fmt.Fprintf(w, "%s: %.3g million a second, %.3g GB/s\n", text.Count(r.Iters, "message"), r.Rate/1e6, r.Bandwidth()/1e9)
	} else {
		t := r.Times
		fmt.Fprintf(w, "%s, %s, us: median %.3g, minimum %.3g, p99 %.3g, maximum %.3g, mean %.3g\n",
			text.Count(r.Iters, "round trip"), way(r), t.Median, t.Min, t.P99, t.Max, t.Mean)
	}
	if r.Checked > 0 {
		fmt.Fprintf(w, "%s compared with what was sent\n", text.Count(r.Checked, "message"))
	}
	if r.Test != perf.Wake {
		fmt.Fprintf(w, "%s for each\n", text.Count(int(r.Allocs), "allocation"))
	}
	return w.String()
}

// way is what was timed.
func way(r perf.Result) string {
	switch {
	case r.Test == perf.Wake:
		return "one way to a receiver that slept"
	case r.Op.Reads():
		return "there and back"
	default:
		return "one way"
	}
}
