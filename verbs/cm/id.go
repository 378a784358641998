package cm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// uid is how the kernel calls our IDs in their events. Each has a file of its own,
// so that one will do.
const uid = 1

// Each answer that the kernel itself waits for has to come within that. The
// context may be shorter.
const resolveTime = 5 * time.Second

// id is a connection of the connection manager, or a place where it listens.
type id struct {
	file *file
	num  uint32
}

func newID() (*id, error) {
	f, err := openFile()
	if err != nil {
		return nil, err
	}
	num, err := f.create()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("new ID of the connection manager: %w", err), f.close())
	}
	return &id{f, num}, nil
}

// adopted is an ID that came with an event, in a file of its own. Where that fails
// it is ended.
func adopted(from *file, num uint32) (*id, error) {
	f, err := openFile()
	if err != nil {
		return nil, errors.Join(err, from.destroy(num))
	}
	if err := f.adopt(from, num); err != nil {
		return nil, errors.Join(err, f.close(), from.destroy(num))
	}
	return &id{f, num}, nil
}

// words are the numbers that most commands consist of.
func words(numbers ...uint32) (b []byte) {
	for _, n := range numbers {
		b = native.AppendUint32(b, n)
	}
	return b
}

// await waits for one event, and takes any other for a failure.
func (i *id) await(ctx context.Context, want eventKind) (*event, error) {
	e, err := i.file.next(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("while waiting for %q: %w", want, err)
	case e.kind != want:
		return nil, e.failure()
	}
	return e, nil
}

// resolve finds the device that leads to an address, and the path.
func (i *id) resolve(ctx context.Context, to netip.AddrPort, zone uint32) error {
	none, _ := storage(netip.AddrPort{}, 0)
	dst, size := storage(to, zone)
	timeout := uint32(resolveTime / time.Millisecond)
	body := words(i.num, timeout)
	body = native.AppendUint16(body, 0)
	body = native.AppendUint16(body, uint16(size))
	body = append(native.AppendUint32(body, 0), none...)
	if err := i.file.tell(resolveAddr, append(body, dst...)); err != nil {
		return unreached(err)
	}
	if _, err := i.await(ctx, addrResolved); err != nil {
		return err
	}
	if err := i.file.tell(resolveRoute, words(i.num, timeout)); err != nil {
		return unreached(err)
	}
	_, err := i.await(ctx, routeResolved)
	return err
}

// bindTo gives it an address of its own.
func (i *id) bindTo(at netip.AddrPort, zone uint32) error {
	addr, size := storage(at, zone)
	body := native.AppendUint16(words(i.num), uint16(size))
	return unreached(i.file.tell(bind, append(native.AppendUint16(body, 0), addr...)))
}

func (i *id) listen(backlog uint32) error { return i.file.tell(listen, words(i.num, backlog)) }

// where tells which addresses and device it has.
func (i *id) where() (w where, err error) {
	err = i.file.ask(query, words(i.num, queryAddr), addrSize, func(b []byte) { w = parseWhere(b) })
	return w, err
}

// source is where packets leave by, as far as the kernel knows it.
func (i *id) source() (w where, gid ib.GID, sl ib.SL, err error) {
	if w, err = i.where(); err != nil {
		return w, gid, sl, err
	}
	if w.guid == 0 {
		return w, gid, sl, ErrUnreachable
	}
	var wrong error
	err = i.file.ask(query, words(i.num, queryGID), addrSize, func(b []byte) { gid, wrong = parseGID(b) })
	if err == nil {
		err = i.file.ask(query, words(i.num, queryPath), pathsSize, func(b []byte) { sl = parseSL(b) })
	}
	return w, gid, sl, errors.Join(err, wrong)
}

// attr is how the QP gets to RTS.
func (i *id) attr() (*verbs.CMAttr, error) {
	const rtr, rts = 2, 3
	a := &verbs.CMAttr{}
	err := i.file.ask(initQPAttr, words(i.num, rtr), qpAttrSize, func(b []byte) { parseReceive(b, a) })
	if err == nil {
		err = i.file.ask(initQPAttr, words(i.num, rts), qpAttrSize, func(b []byte) { parseSend(b, a) })
	}
	if err != nil {
		return nil, fmt.Errorf("attributes for the QP: %w", err)
	}
	return a, nil
}

// param is what this side says when it connects.
func param(qpn ib.QPN, private []byte) *connParam {
	return &connParam{qpn: qpn, private: private, readsIn: 1, readsOut: 1, retries: retries, rnrRetry: 7, valid: true, flowControl: true}
}

// retries is how often a packet is sent again that nobody acknowledges. rxe takes 7
// for no end.
const retries = 4

func (i *id) connect(qpn ib.QPN, private []byte) error {
	body := append(param(qpn, private).bytes(), words(i.num, 0, 0, 0)...)
	return unreached(i.file.tell(connect, body))
}

// accept says yes to who asked.
func (i *id) accept(qpn ib.QPN, private []byte) error { return i.yes(param(qpn, private)) }

// confirm says yes to who said yes.
func (i *id) confirm() error { return i.yes(&connParam{}) }

func (i *id) yes(p *connParam) error {
	body := native.AppendUint64(nil, uid)
	body = append(body, p.bytes()...)
	return i.file.tell(accept, append(body, words(i.num, 0, 0, 0)...))
}

// reject says no, and why; of that, as much as fits.
func (i *id) reject(why string) error {
	const most = 148 // bytes of private data of a REJ
	why = why[:min(len(why), most)]
	body := append(words(i.num), byte(len(why)), 0, 0, 0)
	return i.file.tell(reject, pad(append(body, why...), 8+privateSize))
}

func (i *id) disconnect() error { return i.file.tell(disconnect, words(i.num)) }

// close ends it: the peer is told that nothing more comes.
func (i *id) close() error {
	return errors.Join(i.file.destroy(i.num), i.file.close())
}

func (f *file) destroy(num uint32) error {
	return f.ask(destroyID, words(num, 0), idSize, func([]byte) {})
}

// ended implements control.
func (i *id) ended(ctx context.Context) error {
	for {
		e, err := i.file.next(ctx)
		switch {
		case err != nil:
			return err
		case e.kind == disconnected:
			return io.EOF
		case e.kind == deviceRemoval:
			return fmt.Errorf("%v: %w", e.kind, verbs.ErrNoDevice)
		}
	}
}

var _ control = (*id)(nil)
