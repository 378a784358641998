//go:build linux && (amd64 || arm64)

package shm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"heddle/ib"
	"heddle/verbs"
)

// address is a verbs.AH: a ring to one UD queue pair. What finds no room in it
// is lost.
type address struct {
	domain *domain
	to     endpoint

	mu   sync.Mutex
	link *link // guarded by mu; nil when closed
}

// ResolveAH comes to the peer's socket, for which it has a moment.
func (d *domain) ResolveAH(b []byte) (verbs.AH, ib.QPN, ib.QKey, error) {
	refuse := func(err error) (verbs.AH, ib.QPN, ib.QKey, error) {
		return nil, 0, 0, &verbs.OpError{Verb: "resolve AH", Device: deviceName, Err: err}
	}
	to, err := parseEndpoint(b)
	if err == nil && to.Type != verbs.UD {
		err = fmt.Errorf("of a %v QP: %w", to.Type, verbs.ErrInvalid)
	}
	if err != nil {
		return refuse(err)
	}
	if err := d.adopt(); err != nil {
		return nil, 0, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	hello := &frame{Kind: helloFrame, To: to.QPN, Secret: to.Secret, From: endpoint{Name: d.host.name, Type: verbs.UD}}
	l, err := d.host.dial(ctx, &to, hello, datagramRing)
	if err != nil {
		d.disown()
		return refuse(err)
	}
	return &address{domain: d, to: to, link: l}, to.QPN, to.QKey, nil
}

func (a *address) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == nil {
		return nil
	}
	err := errors.Join(a.link.conn.Close(), a.link.unmap())
	a.link = nil
	a.domain.disown()
	return err
}

// datagram sends to the address of a request.
func (q *pair) datagram(wr *verbs.SendWR) verbs.Status {
	a, ok := wr.AH.(*address)
	if !ok || a.domain != q.domain {
		return verbs.StatusLocalQPOperation
	}
	n := wr.Length()
	if n > q.attr.MTU.Bytes() {
		return verbs.StatusLocalLength
	}
	if status := q.gather(wr); status != verbs.StatusOK {
		return status
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.link == nil {
		return verbs.StatusLocalQPOperation
	}
	out := a.link.out
	room, err := out.room(16, n)
	if err != nil || room == nil || wr.RemoteQPN != a.to.QPN {
		return verbs.StatusOK // it is lost
	}
	flags := uint8(firstFlag | lastFlag)
	if wr.Op == verbs.OpSendImm {
		flags |= immFlag
	}
	if wr.Flags&verbs.Solicited != 0 {
		flags |= solicitedFlag
	}
	binary.NativeEndian.PutUint32(room[wordSize:], uint32(wr.RemoteQKey))
	binary.NativeEndian.PutUint32(room[wordSize+4:], uint32(q.self.QPN))
	binary.NativeEndian.PutUint64(room[wordSize+8:], uint64(wr.Imm))
	copyParts(room[wordSize+16:][:n], q.parts, 0)
	out.clearNext(room)
	out.publish(room, datagramKind, flags, n)
	a.link.bell.tell()
	return verbs.StatusOK
}
