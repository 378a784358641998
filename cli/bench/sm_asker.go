package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// asker is a client that asks for one path after the other. It costs little, so
// that it is the manager that is measured: the answer to a query, within the
// port's own goroutine, is what makes it ask the next one.
type asker struct {
	ctx     context.Context //nolint:containedctx // of the run that the asker lives for
	port    *umad.Port
	request umad.Message
	query   mad.PathRecord
	random  *rand.Rand
	gids    []ib.GID // to ask for
	left    int      // queries
	failed  *atomic.Uint64
	ends    chan<- error // gets one value at the end
	done    func(*umad.Message, error)
}

func newAsker(ctx context.Context, port *umad.Port, gids []ib.GID, seed uint64) (*asker, error) {
	info, err := port.Info()
	if err != nil {
		return nil, fmt.Errorf("ask for paths: %w", err)
	}
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGet, Attr: mad.AttrPathRecord})
	d.SetComponentMask(mad.PathRecordSGID | mad.PathRecordDGID | mad.PathRecordNumbPath)
	a := &asker{
		ctx: ctx, port: port, request: umad.Message{Address: umad.ToLID(info.SMLID), Data: d[:]},
		query: mad.PathRecord{NumbPath: 1}, random: rand.New(rand.NewPCG(seed, 0)), gids: gids,
	}
	a.request.SL = info.SMSL
	a.done = a.answered
	return a, nil
}

// next asks, or ends.
func (a *asker) next() {
	if a.left == 0 || a.ctx.Err() != nil {
		a.ends <- context.Cause(a.ctx)
		return
	}
	a.left--
	a.query.SGID = a.gids[a.random.IntN(len(a.gids))]
	a.query.DGID = a.gids[a.random.IntN(len(a.gids))]
	a.query.AppendTo(a.request.Datagram().Data()[:0])
	if err := a.port.Start(&a.request, umad.CallOptions{Timeout: time.Second}, a.done); err != nil {
		a.ends <- err
	}
}

// answered takes the answer to a query.
func (a *asker) answered(m *umad.Message, err error) {
	if err != nil || !a.isPath(m) {
		a.failed.Add(1)
	}
	a.next()
}

// isPath tells whether an answer has the path that was asked for.
func (a *asker) isPath(m *umad.Message) bool {
	if m.StatusError() != nil {
		return false
	}
	path, err := mad.ParsePathRecord(m.Datagram().Data())
	return err == nil && path.SGID == a.query.SGID && path.DGID == a.query.DGID
}
