package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"heddle/verbs"
)

// unicasts is a root that WRITEs a message to each of the others.
type unicasts struct {
	opened []verbs.Context
	pds    []verbs.PD
	memory []*verbs.Memory
	mrs    []verbs.MR
	cqs    []verbs.CQ
	qps    []verbs.QP // two for each of the others: the root's, and its own
	wcs    []verbs.WC
}

// unicasts opens such a root.
func (b *Broadcasts) unicasts(ctx context.Context, ranks int) (*sender, error) {
	u := &unicasts{wcs: make([]verbs.WC, ranks)}
	if err := u.open(ctx, b, ranks); err != nil {
		return nil, errors.Join(fmt.Errorf("unicasts to %d: %w", ranks, err), u.close())
	}
	return &sender{name: "WRITE to each", send: u.send, end: u.close}, nil
}

func (u *unicasts) open(ctx context.Context, b *Broadcasts, ranks int) (err error) {
	if u.opened, err = b.open(ranks); err != nil {
		return err
	}
	for _, c := range u.opened {
		if err := u.host(c, slices.Max(b.Sizes), ranks); err != nil {
			return err
		}
	}
	for r := 1; r < ranks; r++ {
		if err := u.connect(ctx, r, ranks); err != nil {
			return err
		}
	}
	return nil
}

// host makes what a host has once.
func (u *unicasts) host(c verbs.Context, size, ranks int) error {
	pd, err := c.AllocPD()
	if err != nil {
		return err
	}
	u.pds = append(u.pds, pd)
	m, err := verbs.NewMemory(size)
	if err != nil {
		return err
	}
	u.memory = append(u.memory, m)
	mr, err := pd.RegisterMR(m, verbs.LocalWrite|verbs.RemoteWrite)
	if err != nil {
		return err
	}
	u.mrs = append(u.mrs, mr)
	cq, err := c.CreateCQ(verbs.CQAttr{Depth: ranks})
	if err != nil {
		return err
	}
	u.cqs = append(u.cqs, cq)
	return nil
}

// connect makes the queue pairs of the root and another one.
func (u *unicasts) connect(ctx context.Context, r, ranks int) error {
	var both [2]verbs.QP
	for i, host := range []int{0, r} {
		qp, err := u.pds[host].CreateQP(verbs.QPAttr{
			Type: verbs.RC, SendCQ: u.cqs[host], RecvCQ: u.cqs[host], SendWR: 1, RecvWR: 1, Timeout: broadcastPatience, Access: verbs.RemoteWrite,
		})
		if err != nil {
			return fmt.Errorf("queue pair %d of %d: %w", r, ranks, err)
		}
		both[i] = qp
		u.qps = append(u.qps, qp)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return both[0].Connect(ctx, both[1].Endpoint()) })
	all.Go(func() error { return both[1].Connect(ctx, both[0].Endpoint()) })
	return all.Wait()
}

// send WRITEs to all, waits until that is done, and looks at what came.
func (u *unicasts) send(ctx context.Context, message []byte) error {
	copy(u.memory[0].Bytes(), message)
	for i := 0; i < len(u.qps); i += 2 {
		mr := u.mrs[1+i/2]
		if err := u.qps[i].PostSend(&verbs.SendWR{
			Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{u.mrs[0].SGE(0, len(message))}, RemoteAddr: mr.Addr(), RKey: mr.RKey(),
		}); err != nil {
			return err
		}
	}
	for done := 0; done < len(u.qps)/2; {
		n, err := verbs.Await(ctx, u.cqs[0], u.wcs)
		if err != nil {
			return err
		}
		for i := range u.wcs[:n] {
			if err := u.wcs[i].Err(); err != nil {
				return err
			}
		}
		done += n
	}
	for r, m := range u.memory {
		if !bytes.Equal(m.Bytes()[:len(message)], message) {
			return fmt.Errorf("the bytes at rank %d are not those that were sent", r)
		}
	}
	return nil
}

func (u *unicasts) close() (err error) {
	for _, qp := range u.qps {
		err = errors.Join(err, qp.Close())
	}
	for _, cq := range u.cqs {
		err = errors.Join(err, cq.Close())
	}
	for _, mr := range u.mrs {
		err = errors.Join(err, mr.Close())
	}
	for _, m := range u.memory {
		err = errors.Join(err, m.Close())
	}
	for _, pd := range u.pds {
		err = errors.Join(err, pd.Close())
	}
	for _, c := range u.opened {
		err = errors.Join(err, c.Close())
	}
	return err
}
