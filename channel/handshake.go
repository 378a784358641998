package channel

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The handshake of a link. Each side says at once: "heddle" and two bytes of
// zero, the version (2 bytes), flags (2 bytes; 1: a secret is wanted), and a nonce
// of 32 bytes. With a secret, the side that dialed then proves, in a frame, that it
// knows it: by HMAC-SHA256 of "dial" and both greetings under the secret. The
// other one, if that is right, does the same with "accept". Who is refused is
// told why, in a frame.

const (
	version       = 1
	greetingSize  = 8 + 2 + 2 + 32
	wantsSecret   = 1
	handshakeTime = 10 * time.Second
)

var magic = [8]byte{'h', 'e', 'd', 'd', 'l', 'e'}

// LinkConfig is how links are made.
type LinkConfig struct {
	// Secret is what both sides have to know; none is wanted where it is empty.
	Secret []byte
	// Timeout is how long a handshake takes at most, 10 s by default.
	Timeout time.Duration
	// Dial makes the connection of Dial and DialConn, such as cm.Manager's
	// DialContext, which knows the network "rdma"; by default it is net's.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// handshake greets a peer, and proves to each other that both know the secret.
func handshake(conn net.Conn, dialed bool, cfg LinkConfig) error {
	timeout := cfg.Timeout
	if timeout <= 0 {
		timeout = handshakeTime
	}
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	ours, theirs, err := greet(conn, cfg)
	if err == nil && len(cfg.Secret) > 0 {
		err = prove(conn, dialed, ours, theirs, cfg.Secret)
	}
	if err != nil {
		return errors.Join(err, refuse(conn, err))
	}
	return conn.SetDeadline(time.Time{})
}

// refuse tells the peer why, if it still listens.
func refuse(conn net.Conn, why error) error {
	if !errors.Is(why, ErrInvalid) {
		return nil
	}
	text := why.Error()
	b, err := frameOf(refuseFrame, "", []byte(text[:min(len(text), maxName)]))
	if err != nil {
		return err
	}
	// It may have gone, which says no more than the reason does.
	_, _ = conn.Write(b)
	return nil
}

// greet exchanges greetings.
func greet(conn net.Conn, cfg LinkConfig) (ours, theirs []byte, err error) {
	ours = make([]byte, greetingSize)
	copy(ours, magic[:])
	binary.BigEndian.PutUint16(ours[8:], version)
	if len(cfg.Secret) > 0 {
		binary.BigEndian.PutUint16(ours[10:], wantsSecret)
	}
	if _, err := rand.Read(ours[12:]); err != nil {
		return nil, nil, err
	}
	if _, err := conn.Write(ours); err != nil {
		return nil, nil, err
	}
	theirs = make([]byte, greetingSize)
	if n, err := io.ReadFull(conn, theirs); err != nil {
		return nil, nil, fmt.Errorf("the peer's greeting ends after %d bytes: %w", n, err)
	}
	switch {
	case !bytes.Equal(theirs[:8], magic[:]):
		return nil, nil, fmt.Errorf("the peer's greeting begins with %q, it does not speak heddle: %w", theirs[:8], ErrInvalid)
	case binary.BigEndian.Uint16(theirs[8:]) != version:
		return nil, nil, fmt.Errorf("the peer speaks version %d, this side version %d: %w", binary.BigEndian.Uint16(theirs[8:]), version, ErrInvalid)
	case !bytes.Equal(theirs[10:12], ours[10:12]):
		return nil, nil, fmt.Errorf("one side wants a secret, the other has none: %w", ErrInvalid)
	case bytes.Equal(ours[12:], theirs[12:]):
		return nil, nil, fmt.Errorf("the peer says what this side says: %w", ErrInvalid)
	}
	return ours, theirs, nil
}

// prove shows that this side knows the secret, and sees to it that the peer does.
func prove(conn net.Conn, dialed bool, ours, theirs, secret []byte) error {
	if dialed {
		if err := show(conn, proof(secret, "dial", ours, theirs)); err != nil {
			return err
		}
		return proven(conn, proof(secret, "accept", ours, theirs))
	}
	if err := proven(conn, proof(secret, "dial", theirs, ours)); err != nil {
		return err
	}
	return show(conn, proof(secret, "accept", theirs, ours))
}

func proof(secret []byte, role string, dialer, accepter []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(role))
	m.Write(dialer)
	m.Write(accepter)
	return m.Sum(nil)
}

func show(conn net.Conn, proof []byte) error {
	b, err := frameOf(proofFrame, "", proof)
	if err != nil {
		return err
	}
	_, err = conn.Write(b)
	return err
}

// proven reads a proof.
func proven(conn net.Conn, want []byte) error {
	kind, _, body, err := readFrame(conn)
	switch {
	case err != nil:
		return fmt.Errorf("the peer's proof: %w", err)
	case kind == refuseFrame:
		return fmt.Errorf("the peer refuses: %q: %w", body, ErrInvalid)
	case kind != proofFrame || !hmac.Equal(body, want):
		return fmt.Errorf("the peer does not know the secret: %w", ErrInvalid)
	}
	return nil
}
