//go:build linux && (amd64 || arm64)

package shm

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"

	"heddle/verbs"
	"heddle/verbs/internal/queue"
)

// A long SEND is copied once, not twice, where the peer may read the region that
// it is of: the sender lends it the region, as a descriptor for reading, and puts
// records into the ring that name bytes of it. The receiver copies them to its
// buffer. Until the peer has said that it has the region, what is sent is copied
// to the ring, so nothing waits for that.
//
// The sender has its memory again when the request completes. Where it does so by
// an error, or the QP is closed, it says before that its records are void. The
// receiver looks for that after each copy. Both do so by an atomic change of the
// same word: the receiver's comes first, and so does its copy, or the receiver
// finds the word changed, and delivers nothing.

const (
	// lentSize is from how many bytes in one piece on a SEND is read by its
	// receiver, lentPiece how many of them one record names at most.
	lentSize  = 16 << 10
	lentPiece = 128 << 10
	// maxLoans is how many regions a QP lends to its peer at once: each is a
	// mapping there.
	maxLoans = 64
)

// loan is a region that is lent to the peer, or offered, or was refused.
type loan struct {
	region     *queue.Region
	generation uint64
	taken      bool
}

// source is the piece of a request's memory that an offset of its data is in,
// from there on.
func source(wr *verbs.SendWR, from int) (s verbs.SGE) {
	if wr.Flags&verbs.Inline != 0 {
		return s
	}
	for i := range wr.SGEs {
		if s = wr.SGEs[i]; from < int(s.Length) {
			s.Addr += uint64(from)
			s.Length -= uint32(from)
			return s
		}
		from -= int(s.Length)
	}
	return verbs.SGE{}
}

// lends tells whether the peer reads a piece of memory by itself. If it might, it
// is offered the region for the next time; sending.mu is held.
func (q *pair) lends(l *link, s verbs.SGE) bool {
	if s.Length < lentSize || q.attr.Type != verbs.RC || q.attr.Access&verbs.RemoteRead == 0 {
		return false
	}
	r := q.host.regions.Find(s.LKey)
	if r == nil || r.Access&verbs.RemoteRead == 0 {
		return false
	}
	for i := range l.loans {
		if l.loans[i].region == r {
			return l.loans[i].taken
		}
	}
	if !l.offering {
		q.lend(l, r)
	}
	return false
}

// lend offers a region to the peer.
func (q *pair) lend(l *link, r *queue.Region) {
	l.loans = slices.DeleteFunc(l.loans, func(old loan) bool { return q.host.regions.Find(old.region.Key) != old.region })
	if len(l.loans) == maxLoans {
		return
	}
	given := loan{region: r}
	offer, file := q.host.present(r, verbs.RemoteRead)
	if file != nil {
		offer.Kind, offer.From, given.generation = offerFrame, q.self, offer.Generation
		l.offering = send(l.conn, &offer, file) == nil // else it is copied as ever
		_ = file.Close()
	}
	l.loans = append(l.loans, given)
}

// lent is what the peer says to an offer.
func (q *pair) lent(l *link, f *frame) {
	q.sending.Lock()
	defer q.doneSending()
	l.offering = false
	for i := range l.loans {
		if g := l.loans[i].generation; g != 0 && g == f.Generation {
			l.loans[i].taken = f.Status == verbs.StatusOK
		}
	}
}

// borrow takes a region that the peer offers, and tells it so.
func (q *pair) borrow(l *link, f *frame, files []*os.File) {
	answer := frame{Kind: takenFrame, Key: f.Key, Generation: f.Generation, From: q.self}
	q.receiving.Lock()
	if len(files) != 1 || l.borrow(f, files[0]) != nil {
		answer.Status = verbs.StatusRemoteOperation
	}
	q.doneReceiving()
	_ = send(l.conn, &answer) // a peer that does not listen copies for ever
}

func (l *link) borrow(f *frame, file *os.File) error {
	stale := func(t *target) bool {
		if t.key != f.Key && l.board.valid(t.key, t.generation) {
			return false
		}
		_ = t.pages.Close() // nothing can be done about it
		return true
	}
	if l.borrowed = slices.DeleteFunc(l.borrowed, stale); len(l.borrowed) == maxLoans {
		return fmt.Errorf("%d regions are lent: %w", maxLoans, verbs.ErrInvalid)
	}
	f.Access = verbs.RemoteRead
	t, err := newTarget(f, file)
	if err == nil {
		l.borrowed = append(l.borrowed, t)
	}
	return err
}

// lentMore is what a record says of bytes that are lent: the immediate and their
// number, address, key.
const lentMore = 24

func putLent(more []byte, s verbs.SGE, n int) {
	binary.NativeEndian.PutUint32(more[4:], uint32(n))
	binary.NativeEndian.PutUint64(more[8:], s.Addr)
	binary.NativeEndian.PutUint64(more[16:], uint64(s.LKey))
}

// findLent sets the data of a record to the bytes that are lent; false where it names
// none. What a peer writes there may change at any time, and is read once.
func (l *link) findLent(rec *record) bool {
	_, n := imm(rec.more)
	addr, key := binary.NativeEndian.Uint64(rec.more[8:]), binary.NativeEndian.Uint64(rec.more[16:])
	if n > lentPiece {
		return false
	}
	for _, t := range l.borrowed {
		if uint64(t.key) == key && l.board.valid(t.key, t.generation) {
			b, ok := t.part(addr, int(n))
			rec.n, rec.data = int(n), b
			return ok
		}
	}
	return false
}

// void says that what is lent is no more, before its owner has it again.
func (w *writer) void() { w.voided.Swap(1) }

// holds tells whether what was copied was lent still.
func (r *reader) holds() bool { return r.voided.CompareAndSwap(0, 0) }
