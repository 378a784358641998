package sm

import (
	"testing"
	"time"

	"heddle/fabric"
)

// TestRedo: a sweep that left something undone is repeated after one interval,
// and each time in vain after twice as long, up to sixteen; other sweeps between
// put nothing off.
func TestRedo(t *testing.T) {
	const interval = 10 * time.Second
	var d redo
	now := time.Unix(1000, 0)
	if d.after(now, &Report{}, nil, interval); d.due(now.Add(time.Hour), interval) {
		t.Error("nothing was undone")
	}
	silent := []fabric.Fault{{Kind: fabric.FaultUnreachable}}
	d.after(now, &Report{}, silent, interval)
	for _, want := range []int{1, 2, 4, 8, 16, 16} {
		looks := 0
		for due := false; !due; looks++ {
			now = now.Add(interval)
			if due = d.due(now, interval); !due {
				d.after(now, &Report{Failed: 1}, nil, interval) // another sweep, as in vain
			}
		}
		if looks != want {
			t.Errorf("swept again after %d intervals, want %d", looks, want)
		}
		d.after(now, &Report{}, silent, interval)
	}
	now = now.Add(interval)
	if d.begin(now, interval); d.due(now.Add(5*interval), interval) {
		t.Error("what is left undone anew changed the wait")
	}
	if d.after(now, &Report{}, nil, interval); d.due(now.Add(time.Hour), interval) {
		t.Error("all was done in the end")
	}
	if d.begin(now, interval); !d.due(now, interval) {
		t.Error("what is left undone between sweeps waits")
	}
}
