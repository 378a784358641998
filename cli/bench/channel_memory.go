package bench

import (
	"context"
	"time"

	"heddle/cli/perf"
	"heddle/verbs"
	"heddle/verbs/sim"
)

// adds is how many FETCH_AND_ADDs are timed.
const adds = 2000

func noPlan(*channelStage) []*channelTrial { return nil }

// answerDeviceMemory times what a sender of a shared ring does first: it adds to
// the tail, which may lie in the memory of the host or in the device's own.
func answerDeviceMemory(ctx context.Context, s *channelStage, _ []*channelTrial) (Answer, error) {
	began := time.Now()
	caps := s.end.Caps()
	return deviceMemory(ctx, s.device, &caps, s.Runs, "us", 1, func() time.Duration { return time.Since(began) })
}

func countDeviceMemory(ctx context.Context, _ *Channel) (Answer, error) {
	n, err := sim.New(sim.Config{Clock: sim.Crossings})
	if err != nil {
		return Answer{}, err
	}
	defer n.Close()
	d, err := n.Add("ib")
	if err != nil {
		return Answer{}, err
	}
	profile := sim.InOrder()
	caps := profile.Caps()
	return deviceMemory(ctx, VerbsDevice{Device: d, Provider: "sim", Alone: true}, &caps, 1, "HRT", 1e3, n.Now)
}

func deviceMemory(
	ctx context.Context, d VerbsDevice, caps *verbs.Caps, runs int, unit string, factor float64, clock func() time.Duration,
) (a Answer, err error) {
	g := Grid{Title: "a FETCH_AND_ADD to the tail of a shared ring, there and back", Head: []string{"", "unit", "heddle", "runs"}}
	if lack := lacksMemory(caps); lack != "" {
		g.Note = d.name() + " " + lack + "."
		a.Grids = []Grid{g}
		return a, nil
	}
	var values [2][]float64
	places := [2]string{"tail in memory of the host", "tail in memory of the device"}
	err = interleaved(runs, []int{0, 1}, func(_, i int) error {
		t, err := perf.Counter(ctx, d, i == 1, adds, clock)
		values[i] = append(values[i], t.Median*factor)
		return err
	})
	if err != nil {
		return a, err
	}
	for i, place := range places {
		f := ChannelFigure{Figure: Figure{
			Case: g.Title, Metric: place, Unit: unit, Ours: middle(values[i]), Runs: runs,
		}}
		a.Figures = append(a.Figures, f)
		g.Rows = append(g.Rows, f.row())
	}
	a.Grids = []Grid{g}
	return a, nil
}

// lacksMemory says what the device lacks, nothing where it has all.
func lacksMemory(caps *verbs.Caps) string {
	switch {
	case !caps.DeviceMemory:
		return "has no memory of its own"
	case !caps.Can(verbs.RC, verbs.OpFetchAdd):
		return "has no FETCH_AND_ADD"
	default:
		return ""
	}
}
