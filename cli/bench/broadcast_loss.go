package bench

import (
	"bytes"
	"context"
	"errors"
	"time"

	"heddle/collective"
	"heddle/emu"
	"heddle/fabric"
)

// lossyPatience is for a READ that the network may have lost.
const lossyPatience = 100 * time.Millisecond

// lossy measures broadcasts of all sizes where every link loses packets.
func (b *Broadcasts) lossy(ctx context.Context, ranks int) (list []Repairs, err error) {
	t, err := b.team(ctx, ranks, collective.Config{Timeout: lossyPatience})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.lose(0), t.close()) }()
	if err := b.lose(b.Loss); err != nil {
		return nil, err
	}
	for _, size := range b.Sizes {
		one, err := b.repairs(ctx, t, size)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// repairs measures broadcasts of one size.
func (b *Broadcasts) repairs(ctx context.Context, t *team, size int) (Repairs, error) {
	x := Repairs{Fabric: b.Fabric, Loss: b.Loss, Ranks: len(t.groups), Size: size, Runs: b.Runs}
	message := bytes.Repeat([]byte{1}, size)
	before, lost := t.stats(), b.lost()
	times, err := b.times(ctx, &sender{send: t.broadcast}, message)
	if err != nil {
		return x, err
	}
	s := t.stats().Minus(before)
	x.Dropped, x.MedianMs = b.lost()-lost, medianMs(times)
	chunks := (size + chunkBytes - 1) / chunkBytes
	each := float64(size) / float64(chunks) // bytes of a chunk, on average
	due := (x.Ranks - 1) * x.Runs * chunks
	of := func(chunks int) int { return int(float64(chunks)*each + 0.5) }
	x.Due, x.Missed = of(due), of(due-int(s.Received+s.Duplicates))
	x.Fetched, x.Near = of(int(s.FromNeighbour+s.FromRoot)), of(int(s.FromNeighbour))
	return x, nil
}

// stats is the sum of all readers'.
func (t *team) stats() (sum collective.Stats) {
	for _, g := range t.groups[1:] {
		sum = sum.Plus(g.Stats())
	}
	return sum
}

// lost is how many packets links lost so far.
func (b *Broadcasts) lost() (n uint64) {
	_ = b.lab.Live.Do(func(s *emu.Subnet) error { // it fails with the lab only
		n = s.Data().Lost[emu.LossLink]
		return nil
	})
	return n
}

// lose has all links lose that part of packets.
func (b *Broadcasts) lose(part float64) error {
	return b.lab.Live.Do(func(s *emu.Subnet) error {
		for id := range fabric.LinkID(b.lab.Fabric.NumLinks()) {
			if err := s.LinkTrouble(id, emu.Trouble{Drop: part}); err != nil {
				return err
			}
		}
		return nil
	})
}
