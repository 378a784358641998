package verbs

import "strconv"

// named is how a value of an enumeration is written: an unknown one stays
// visible.
func named(kind string, names []string, v int) string {
	if v >= 0 && v < len(names) && names[v] != "" {
		return names[v]
	}
	return kind + "(" + strconv.Itoa(v) + ")"
}

func (s PortState) String() string {
	return named("PortState", []string{"unknown", "DOWN", "INIT", "ARMED", "ACTIVE"}, int(s))
}

func (l LinkLayer) String() string {
	return named("LinkLayer", []string{"unspecified", "InfiniBand", "Ethernet", "memory"}, int(l))
}

func (t GIDType) String() string {
	return named("GIDType", []string{"any", "IB", "RoCE v1", "RoCE v2"}, int(t))
}

func (t QPType) String() string { return named("QPType", []string{"", "RC", "UC", "UD"}, int(t)) }

func (t MWType) String() string {
	return named("MWType", []string{"", "type 1", "type 2"}, int(t))
}

func (s QPState) String() string {
	return named("QPState", []string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}, int(s))
}

func (o Op) String() string {
	return named("Op", []string{
		"", "SEND", "SEND_WITH_IMM", "WRITE", "WRITE_WITH_IMM", "READ", "FETCH_AND_ADD", "COMPARE_AND_SWAP",
		"BIND_MW", "LOCAL_INV", "RECV", "RECV_WRITE_WITH_IMM",
	}, int(o))
}

func (s Status) String() string {
	return named("Status", []string{
		"success", "local length error", "local QP operation error", "local protection error",
		"WR flushed error", "memory window bind error", "bad response error", "local access error",
		"remote invalid request error", "remote access error", "remote operation error",
		"transport retry counter exceeded", "RNR retry counter exceeded", "remote aborted error",
		"fatal error", "response timeout error", "general error",
	}, int(s))
}

func (t EventType) String() string {
	return named("EventType", []string{
		"", "CQ error", "QP fatal error", "QP request error", "QP access error", "communication established",
		"SQ drained", "SRQ error", "SRQ limit reached", "last WQE reached", "device fatal error",
		"port active", "port error", "GID changed", "LID changed", "P_Key changed", "client reregister",
		"peer gone",
	}, int(t))
}
