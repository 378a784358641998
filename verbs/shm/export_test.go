//go:build linux && (amd64 || arm64)

package shm

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"heddle/verbs"
)

// Bare has a context sleep until it is woken, and a QP kick nobody: without them
// a wake-up that gets lost is a hang.
func Bare(ctx verbs.Context, qps ...verbs.QP) {
	ctx.(*opened).nap = time.Hour
	for _, qp := range qps {
		q := qp.(*pair)
		q.sending.Lock()
		q.stall.asked = true // and never answered
		q.doneSending()
	}
}

// Half is a peer that goes a part of the way to a connection, for tests that end
// its process there.
type Half struct {
	self     endpoint
	listener *net.UnixListener
}

// NewHalf has an endpoint that is less than that of any device, so that it is the
// one to dial, or is as great as can be, and is dialled.
func NewHalf(dials bool) (*Half, error) {
	h := &Half{self: endpoint{QPN: 2, Type: verbs.RC}}
	rand.Read(h.self.Secret[:])
	rand.Read(h.self.Name[8:])
	if dials {
		return h, nil
	}
	for i := range 8 {
		h.self.Name[i] = 0xff
	}
	l, err := net.ListenUnix("unixpacket", h.self.socket())
	h.listener = l
	return h, err
}

// Endpoint is what the other side connects to.
func (h *Half) Endpoint() []byte { return h.self.AppendTo(nil) }

// Steps of a Half. What is true of one that dials is so of one that is dialled.
const (
	StepNothing   = iota // it has only told its endpoint
	StepSocket           // it has come to the socket, or accepted
	StepCutOff           // its frame is cut off
	StepNoFiles          // no descriptors come with its frame
	StepTwoFiles         // one is missing, or too many
	StepFrame            // its frame is there
	StepConnected        // both frames were read
	Steps
)

// Go goes so far, and keeps what it has opened.
func (h *Half) Go(to []byte, step int) error {
	if step == StepNothing {
		return nil
	}
	peer, err := parseEndpoint(to)
	if err != nil {
		return err
	}
	if h.listener != nil {
		return h.answer(step)
	}
	conn, err := net.DialUnix("unixpacket", nil, peer.socket())
	if err != nil || step == StepSocket {
		return err
	}
	hello := &frame{Kind: helloFrame, To: peer.QPN, Secret: peer.Secret, From: h.self}
	files, err := goodFiles()
	if err := errors.Join(err, h.say(conn, step, hello, files)); err != nil || step != StepConnected {
		return err
	}
	_, _, err = receive(conn)
	return err
}

func (h *Half) answer(step int) error {
	conn, err := h.listener.AcceptUnix()
	if err != nil || step == StepSocket {
		return err
	}
	if _, _, err := receive(conn); err != nil {
		return err
	}
	files, err := goodFiles()
	return errors.Join(err, h.say(conn, step, &frame{Kind: welcomeFrame, From: h.self}, files[1:]))
}

// say sends a frame as the step has it.
func (h *Half) say(conn *net.UnixConn, step int, f *frame, files []*os.File) error {
	switch step {
	case StepCutOff:
		b := f.AppendTo(nil)
		_, _, err := conn.WriteMsgUnix(b[:len(b)-3], rights(files), nil)
		return err
	case StepNoFiles:
		files = nil
	case StepTwoFiles:
		files = files[1:]
	}
	return send(conn, f, files...)
}

// goodFiles are rings, a bell and a board that can be used.
func goodFiles() (files []*os.File, err error) {
	for _, f := range []struct {
		name string
		size int
	}{{"rings", controlSize(ringSize)}, {"bell", pageBytes}, {"board", boardBytes}} {
		file, failed := newFile(f.name, f.size)
		if failed != nil {
			return nil, fmt.Errorf("%s: %w", f.name, failed)
		}
		files = append(files, file)
	}
	return files, nil
}
