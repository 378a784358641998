//go:build unix && !linux

package ibsim

// several has nothing: packets are sent one by one.
type several struct{}

func (s *Sender) sendAll(packets []Packet, wait bool) (sent int, err error) {
	for i := range packets {
		if err := s.send(packets[i][:], nil, wait); err != nil {
			return i, err
		}
	}
	return len(packets), nil
}
