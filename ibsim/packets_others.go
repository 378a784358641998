//go:build !linux

package ibsim

// Reader reads packets from a datagram socket. It must not be used by two
// goroutines at once.
type Reader struct {
	conn    Conn
	buf     [PacketSize + 1]byte
	packets [1]Packet
}

// NewReader makes a Reader of a socket.
func NewReader(conn Conn) (*Reader, error) { return &Reader{conn: conn}, nil }

// Read waits for a packet, which is valid until the next Read. A datagram of
// another length is left out, so that there may be none. Deadlines are those
// of the socket.
func (r *Reader) Read() ([]Packet, error) {
	n, err := r.conn.Read(r.buf[:])
	if err != nil || n != PacketSize {
		return nil, err
	}
	copy(r.packets[0][:], r.buf[:])
	return r.packets[:], nil
}
