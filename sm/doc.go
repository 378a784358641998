// Package sm is the subnet manager: it brings a subnet up and keeps it up.
//
// A Manager owns a umad.Port. It sweeps the subnet (sm/subnet), plans what the
// subnet should be (sm/plan), and sends what differs, stage by stage. Sweeps
// and plans are pure or nearly so; the Manager is the shell that has the port
// and the clock.
//
//	m, err := sm.New(port, sm.Config{})
//	...
//	report, err := m.BringUp(ctx)
package sm
