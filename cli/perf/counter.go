package perf

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"heddle/verbs"
)

// Counter times FETCH_AND_ADDs from one context of a device to a word of another
// one, by a clock: a word in memory of the host, or of the device itself. The
// error of a device without such memory wraps verbs.ErrNotSupported.
func Counter(ctx context.Context, d verbs.Device, inDevice bool, adds int, clock func() time.Duration) (t Times, err error) {
	c := &counter{ctx: ctx, device: inDevice}
	defer func() {
		var all []error
		for _, f := range slices.Backward(c.undo) {
			all = append(all, f())
		}
		err = errors.Join(err, errors.Join(all...))
	}()
	if err := c.make(d); err != nil {
		return t, fmt.Errorf("%s: %w", d.Name(), err)
	}
	list := make([]float64, 0, adds)
	for range adds/10 + adds {
		begin := clock()
		if err := c.add(); err != nil {
			return t, fmt.Errorf("%s: %w", d.Name(), err)
		}
		list = append(list, float64(clock()-begin))
	}
	return timesOf(list[adds/10:]), nil
}

// counter is a word, and a queue pair that reaches it.
type counter struct {
	ctx    context.Context
	device bool // the word is in the device's memory
	undo   []func() error
	cq     verbs.CQ
	qps    [2]verbs.QP // who adds, and whose word it is
	wr     verbs.SendWR
}

func (c *counter) make(d verbs.Device) error {
	var words [2]verbs.MR
	for i := range words {
		dev, err := d.Open()
		if err != nil {
			return err
		}
		c.undo = append(c.undo, dev.Close)
		if words[i], err = c.side(dev, i); err != nil {
			return err
		}
	}
	c.wr = verbs.SendWR{
		Op: verbs.OpFetchAdd, SGEs: []verbs.SGE{words[0].SGE(0, wordSize)}, RemoteAddr: words[1].Addr(), RKey: words[1].RKey(),
		Swap: 1, Flags: verbs.Signaled,
	}
	failed := make(chan error)
	go func() { failed <- c.qps[1].Connect(c.ctx, c.qps[0].Endpoint()) }()
	return errors.Join(c.qps[0].Connect(c.ctx, c.qps[1].Endpoint()), <-failed)
}

// side makes a queue pair of one side, and its word.
func (c *counter) side(dev verbs.Context, i int) (verbs.MR, error) {
	pd, err := dev.AllocPD()
	if err != nil {
		return nil, err
	}
	c.undo = append(c.undo, pd.Close)
	mem, err := c.memory(pd, i == 1 && c.device)
	if err != nil {
		return nil, err
	}
	c.undo = append(c.undo, mem.Close)
	mr, err := pd.RegisterMR(mem, verbs.LocalWrite|verbs.RemoteAtomic)
	if err != nil {
		return nil, err
	}
	c.undo = append(c.undo, mr.Close)
	cq, err := dev.CreateCQ(verbs.CQAttr{Depth: 2})
	if err != nil {
		return nil, err
	}
	c.undo = append(c.undo, cq.Close)
	if i == 0 {
		c.cq = cq
	}
	if c.qps[i], err = pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: cq, RecvCQ: cq, SendWR: 1, RecvWR: 1}); err != nil {
		return nil, err
	}
	c.undo = append(c.undo, c.qps[i].Close)
	return mr, nil
}

func (c *counter) memory(pd verbs.PD, ofDevice bool) (*verbs.Memory, error) {
	if !ofDevice {
		return verbs.NewMemory(wordSize)
	}
	a, ok := pd.(verbs.DeviceMemoryAllocator)
	if !ok {
		return nil, fmt.Errorf("device memory: %w", verbs.ErrNotSupported)
	}
	return a.AllocDM(wordSize)
}

// add adds once.
func (c *counter) add() error {
	if err := c.qps[0].PostSend(&c.wr); err != nil {
		return err
	}
	var wc [1]verbs.WC
	for {
		for range looks {
			n, err := c.cq.Poll(wc[:])
			if err != nil {
				return err
			}
			if n > 0 {
				return wc[0].Err()
			}
		}
		if err := context.Cause(c.ctx); err != nil {
			return err
		}
		runtime.Gosched()
	}
}
