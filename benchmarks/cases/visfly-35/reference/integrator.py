class Integrator:
    """One step of the point-mass equations of motion; state tensors are (3, N)."""

    @staticmethod
    def derivative(vel, acc, drag):
        return vel, acc - drag * vel

    @staticmethod
    def integrate(pos, vel, acc, drag, dt, kind="euler"):
        if kind == "euler":
            d_pos, d_vel = Integrator.derivative(vel, acc, drag)
            pos = pos + d_pos * dt
            vel = vel + d_vel * dt
        elif kind == "midpoint":
            d_pos, d_vel = Integrator.derivative(vel, acc, drag)
            m_pos, m_vel = Integrator.derivative(vel + 0.5 * dt * d_vel, acc, drag)
            pos = pos + m_pos * dt
            vel = vel + m_vel * dt
        else:
            raise ValueError(kind)
        return pos, vel
