package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"heddle/emu"
	"heddle/fabric"
)

// dying is the phase in whose middle links die.
func (r *run) dying(ctx context.Context) error {
	if r.s.Cut == 0 {
		return nil
	}
	links, err := r.busiest(r.s.Cut)
	if err != nil {
		return err
	}
	sweeps := r.Manager.Status().Sweeps
	var died time.Time
	err = r.phase(ctx, "links die", func() {
		died = time.Now()
		_ = r.Live.Do(func(s *emu.Subnet) error { // it fails with the lab only
			for _, one := range links {
				s.CutLink(one.id)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	took, err := r.swept(ctx, sweeps, died)
	if err != nil {
		return err
	}
	for _, one := range links {
		r.result.Cuts = append(r.result.Cuts, Cut{Link: one.name, Share: one.share, Rerouted: took})
	}
	r.efi(1)
	return nil
}

// after is the phase after that.
func (r *run) after(ctx context.Context) error {
	if r.s.Cut == 0 {
		return nil
	}
	return r.phase(ctx, "after the links died", nil)
}

// loaded is a link between switches.
type loaded struct {
	id    fabric.LinkID
	name  string
	words uint64
	share float64
}

// busiest are the links between switches that carried the most data so far.
func (r *run) busiest(n int) (list []loaded, err error) {
	var sum uint64
	err = r.Live.Do(func(s *emu.Subnet) error {
		for id := range fabric.LinkID(r.Fabric.NumLinks()) {
			l := r.Fabric.Link(id)
			if r.Fabric.Node(l.A.Node).Kind != fabric.Switch || r.Fabric.Node(l.B.Node).Kind != fabric.Switch {
				continue
			}
			words := s.Counters(l.A).PortXmitData + s.Counters(l.B).PortXmitData
			sum += words
			list = append(list, loaded{id: id, words: words, name: fmt.Sprintf("%s - %s", r.Fabric.EndLabel(l.A), r.Fabric.EndLabel(l.B))})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(list) < n {
		return nil, fmt.Errorf("%d links to cut, of %d between switches", n, len(list))
	}
	slices.SortStableFunc(list, func(a, b loaded) int { return cmp.Compare(b.words, a.words) })
	for i := range list {
		list[i].share = float64(list[i].words) / float64(max(sum, 1))
	}
	return list[:n], nil
}

// swept waits until the manager has swept again, and tells how long that took since
// links died.
func (r *run) swept(ctx context.Context, before uint64, died time.Time) (time.Duration, error) {
	for {
		if s := r.Manager.Status(); s.Sweeps > before && s.Last.Err == nil && s.Last.At.After(died) {
			return s.Last.At.Add(s.Last.Took).Sub(died), nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return 0, fmt.Errorf("the manager did not sweep: %w", context.Cause(ctx))
		}
	}
}
