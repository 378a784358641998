//go:build !linux

package ibsim

// Quiet gives the socket back.
func Quiet(conn Conn) (Conn, error) { return conn, nil }
