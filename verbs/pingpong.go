package verbs

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"heddle/ib"
)

// The length of the text of an endpoint.
const pingPongLen = 4 + 1 + 6 + 1 + 6 + 1 + 32

// PingPongText is the endpoint as the example programs of rdma-core say it to each
// other, ibv_rc_pingpong and its like: LID, QPN, PSN and GID in hexadecimal digits,
// with colons between. They send a zero byte behind it.
func (e *EndpointAttr) PingPongText() string {
	return fmt.Sprintf("%04x:%06x:%06x:%x", uint16(e.LID), uint32(e.QPN), e.PSN, e.GID[:])
}

// ParsePingPong reads that; the other fields are as they were. The error wraps
// ErrInvalid.
func (e *EndpointAttr) ParsePingPong(text string) error {
	refused := fmt.Errorf("%q is not LID:QPN:PSN:GID: %w", text, ErrInvalid)
	if len(text) != pingPongLen || text[4] != ':' || text[11] != ':' || text[18] != ':' {
		return refused
	}
	lid, err1 := hex.DecodeString(text[:4])
	numbers, err2 := hex.DecodeString("00" + text[5:11] + "00" + text[12:18])
	gid, err3 := hex.DecodeString(text[19:])
	if err1 != nil || err2 != nil || err3 != nil {
		return refused
	}
	e.LID, e.GID = ib.LID(binary.BigEndian.Uint16(lid)), ib.GID(gid)
	e.QPN, e.PSN = ib.QPN(binary.BigEndian.Uint32(numbers)), binary.BigEndian.Uint32(numbers[4:])
	return nil
}

// pingPongMTU is that of ibv_rc_pingpong and ibv_uc_pingpong without -m.
const pingPongMTU = ib.MTU1024

// rocePort is the UDP port of RoCEv2.
const rocePort = 4791

// MeetPingPong exchanges endpoints with one of those programs, and calls connect with
// the other one, which it knows QPN, PSN and addresses of; the rest is as of its own,
// and as the programs have it when they are not told otherwise: MTU 1024 (of RC and
// UC), one READ at once, the port of RoCEv2. The client is who connected: it tells of
// itself first. When the call returns both ends are ready.
func MeetPingPong(conn io.ReadWriter, own EndpointAttr, client bool, connect func(theirs EndpointAttr) error) error {
	if own.Port != 0 && own.Port != rocePort {
		return fmt.Errorf("adapters send to UDP port %d, and this endpoint has %d, as another program has the first: %w", rocePort, own.Port, ErrInvalid)
	}
	if client {
		if err := say(conn, own.PingPongText()); err != nil {
			return err
		}
	}
	in := bufio.NewReaderSize(conn, 64)
	theirs := own
	theirs.Port, theirs.Reads = 0, 1
	if own.Type != UD {
		theirs.MTU = pingPongMTU
	}
	text, err := hear(in)
	if err == nil {
		err = theirs.ParsePingPong(text)
	}
	if err != nil {
		return fmt.Errorf("endpoint of a ping-pong program: %w", err)
	}
	if err := connect(theirs); err != nil {
		return err
	}
	if client {
		return say(conn, "done")
	}
	if err := say(conn, own.PingPongText()); err != nil {
		return err
	}
	_, err = hear(in) // that it is ready, too
	return err
}

func say(conn io.Writer, text string) error {
	_, err := io.WriteString(conn, text+"\x00")
	return err
}

// hear takes what ends with a zero byte, and is not long.
func hear(in *bufio.Reader) (string, error) {
	text, err := in.ReadSlice(0)
	return strings.TrimSuffix(string(text), "\x00"), err
}
